package health

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An operator that keeps failing for an object says so in warnings, whatever trivial condition of the object is True.
func TestRepeatedWarnings(t *testing.T) {
	const noWarnings = `{type: NoWarnings, status: "True", message: none}`
	const failed = `{type: ReconcileSuccess, status: "False", reason: FailedCLICommand, message: exit code 127, lastTransitionTime: "2000-01-01T00:00:00Z"}`
	const normal = `{type: Progressing, status: "False", message: idle}, {type: Degraded, status: "False", message: well}, {type: Suspended, status: "False", message: runs}`
	repeated := func(message, at string) string {
		return strings.Replace(warning("w", "FailedReconcile", message, "2000-01-01T00:"+at+"Z"), "type:", "count: 11, type:", 1)
	}
	series := strings.Replace(repeated("exit code 127", "00:10"), "count: 11, ", `series: {count: 3, lastObservedTime: "2000-01-01T00:00:10.000000Z"}, `, 1)
	const isFailing = "its condition ReconcileSuccess is False: FailedCLICommand: exit code 127"
	for name, test := range map[string]struct{ conditions, event, want string }{
		"it fails":                     {noWarnings + ", " + failed, repeated("exit code 127", "00:10"), isFailing},
		"it fails, in a series":        {noWarnings + ", " + failed, series, isFailing},
		"it says more":                 {noWarnings + ", " + failed, repeated("no Pod", "00:10"), isFailing + "; last warning, 50.0 s ago: FailedReconcile: no Pod"},
		"only a warning":               {noWarnings + ", " + normal, repeated("no Pod", "00:50"), "it had 11 warnings, the last one 10.0 s ago: FailedReconcile: no Pod"},
		"once":                         {noWarnings + ", " + failed, warning("w", "FailedReconcile", "exit code 127", "2000-01-01T00:00:10Z"), ""},
		"none":                         {noWarnings + ", " + failed, warning("other", "FailedReconcile", "exit code 127", "2000-01-01T00:00:10Z"), ""},
		"ready":                        {`{type: Ready, status: "True"}, ` + failed, repeated("exit code 127", "00:10"), ""},
		"a success since":              {`{type: ReconcileSuccess, status: "True", lastTransitionTime: "2000-01-01T00:00:30Z"}`, repeated("exit code 127", "00:10"), ""},
		"False, but without a message": {noWarnings + `, {type: ReconcileSuccess, status: "False"}`, repeated("no Pod", "00:50"), "it had 11 warnings, the last one 10.0 s ago: FailedReconcile: no Pod"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Minute)
				object := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w}, status: {conditions: [` + test.conditions + `]}}`
				c := newCluster(t, object, test.event)
				c.serve("example.com/v1", "widgets", "Widget", true)
				s, err := c.Examine(t.Context(), "Widget", "shop", "w")
				if err != nil || s.Status != Current || s.Doubt != test.want {
					t.Errorf("got  %s %s, %v\nwant %s", s.Status, s.Doubt, err, test.want)
				}
				doubtful := ""
				err = c.Wait(t.Context(), []Ref{s.Ref}, Options{Doubtful: func(s State) { doubtful = s.Doubt }})
				if err != nil || doubtful != test.want {
					t.Errorf("waited: got %s, %v\nwant %s", doubtful, err, test.want)
				}
			})
		})
	}
}

// Warnings from before the user's last change, and old ones that no condition confirms, are over.
func TestRepeatedWarningsThatAreOver(t *testing.T) {
	event := strings.Replace(warning("w", "FailedReconcile", "no Pod", "2000-01-01T00:00:10Z"), "type:", "count: 11, type:", 1)
	for name, test := range map[string]struct {
		changed, condition string
		after              time.Duration
		want               string
	}{
		"recent":                     {"00:00", "", 4 * time.Minute, "it had 11 warnings, the last one 3 m 50 s ago: FailedReconcile: no Pod"},
		"old":                        {"00:00", "", 6 * time.Minute, ""},
		"old, but still so":          {"00:00", `{type: AllReplicasReady, status: "False", message: 0 of 1}`, 40 * time.Minute, "its condition AllReplicasReady is False: 0 of 1; last warning, 39 m 50 s ago: FailedReconcile: no Pod"},
		"before the change":          {"00:30", "", time.Minute, ""},
		"before the change, like it": {"00:30", `{type: Open, status: "True"}, {type: AllReplicasReady, status: "False", message: 0 of 1}`, time.Minute, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(test.after)
				object := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, managedFields: [{manager: kubectl, time: "2000-01-01T00:` + test.changed +
					`Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}]}, status: {conditions: [{type: NoWarnings, status: "True"}, ` + test.condition + `]}}`
				c := newCluster(t, strings.Replace(object, ", ]", "]", 1), event)
				c.serve("example.com/v1", "widgets", "Widget", true)
				if s, err := c.Examine(t.Context(), "Widget", "shop", "w"); err != nil || s.Doubt != test.want {
					t.Errorf("got  %s, %v\nwant %s", s.Doubt, err, test.want)
				}
			})
		})
	}
}
