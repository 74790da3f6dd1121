package health

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// repeatedWarnings is a warning about the Widget w from the first second of the year 2000 until a time of its first hour.
func repeatedWarnings(message, until string) string {
	return strings.Replace(warning("w", "FailedReconcile", message, "2000-01-01T00:"+until+"Z"), "type:", `count: 11, firstTimestamp: "2000-01-01T00:00:00Z", type:`, 1)
}

// An operator that keeps failing for an object says so in warnings, whatever trivial condition of the object is True.
func TestRepeatedWarnings(t *testing.T) {
	const noWarnings = `{type: NoWarnings, status: "True", message: none}`
	const failed = `{type: ReconcileSuccess, status: "False", reason: FailedCLICommand, message: exit code 127, lastTransitionTime: "2000-01-01T00:00:00Z"}`
	const normal = `{type: Progressing, status: "False", message: idle}, {type: Degraded, status: "False", message: well}, {type: Suspended, status: "False", message: runs}`
	series := strings.Replace(repeatedWarnings("exit code 127", "00:35"), "count: 11, ", `series: {count: 3, lastObservedTime: "2000-01-01T00:00:40.000000Z"}, `, 1)
	const isFailing = "its condition ReconcileSuccess is False: FailedCLICommand: exit code 127"
	for name, test := range map[string]struct{ conditions, event, want string }{
		"it fails":                     {noWarnings + ", " + failed, repeatedWarnings("exit code 127", "00:40"), isFailing},
		"it fails, in a series":        {noWarnings + ", " + failed, series, isFailing},
		"it says more":                 {noWarnings + ", " + failed, repeatedWarnings("no Pod", "00:40"), isFailing + "; last warning, 20.0 s ago: FailedReconcile: no Pod"},
		"only a warning":               {noWarnings + ", " + normal, repeatedWarnings("no Pod", "00:50"), "it had 11 warnings, the last one 10.0 s ago: FailedReconcile: no Pod"},
		"twice":                        {noWarnings + ", " + failed, strings.Replace(repeatedWarnings("exit code 127", "00:40"), "11", "2", 1), ""},
		"none":                         {noWarnings + ", " + failed, strings.Replace(repeatedWarnings("exit code 127", "00:40"), "uid-of-w", "uid-of-x", 1), ""},
		"not for longer than it took":  {noWarnings + ", " + failed, repeatedWarnings("exit code 127", "00:28"), ""},
		"a series without a time":      {noWarnings + ", " + failed, strings.Replace(series, `, lastObservedTime: "2000-01-01T00:00:40.000000Z"`, "", 1), isFailing},
		"ready":                        {`{type: Ready, status: "True"}, ` + failed, repeatedWarnings("exit code 127", "00:40"), ""},
		"a success since":              {`{type: ReconcileSuccess, status: "True", lastTransitionTime: "2000-01-01T00:00:50Z"}`, repeatedWarnings("exit code 127", "00:40"), ""},
		"a success, and another time":  {`{type: Open, status: "True", lastTransitionTime: ""}, {type: Synced, status: "True", lastTransitionTime: "2000-01-01T00:00:50Z"}`, repeatedWarnings("exit code 127", "00:40"), ""},
		"False, but without a message": {noWarnings + `, {type: ReconcileSuccess, status: "False"}`, repeatedWarnings("no Pod", "00:50"), "it had 11 warnings, the last one 10.0 s ago: FailedReconcile: no Pod"},
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

// Warnings from before the user's last change, and those that were not repeated for long, are over.
func TestRepeatedWarningsThatAreOver(t *testing.T) {
	const unmet = `, {type: AllReplicasReady, status: "False", message: 0 of 1}`
	const isUnmet = "its condition AllReplicasReady is False: 0 of 1; last warning, "
	for name, test := range map[string]struct {
		changed, until, condition string
		after                     time.Duration
		want                      string
	}{
		"recent":                     {"00:00", "10:00", "", 14 * time.Minute, "it had 11 warnings, the last one 4 m 00 s ago: FailedReconcile: no Pod"},
		"old":                        {"00:00", "10:00", "", 16 * time.Minute, ""},
		"old, but still so":          {"00:00", "20:00", unmet, 36 * time.Minute, isUnmet + "16 m 00 s ago: FailedReconcile: no Pod"},
		"older":                      {"00:00", "20:00", unmet, 38 * time.Minute, ""},
		"before the change":          {"00:30", "00:20", "", 40 * time.Second, ""},
		"before the change, like it": {"00:30", "00:20", unmet, 40 * time.Second, ""},
		"soon after the change":      {"00:30", "00:32", "", 40 * time.Second, ""},
		"long after the change":      {"00:30", "00:50", "", time.Minute, "it had 11 warnings, the last one 10.0 s ago: FailedReconcile: no Pod"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(test.after)
				object := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, managedFields: [` +
					`{manager: operator, subresource: status, time: "2000-01-01T00:00:05Z", fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}, ` +
					`{manager: operator, time: "2000-01-01T00:59:00Z", fieldsType: FieldsV1, fieldsV1: {"f:metadata": {}, "f:spec": {"f:default": {}}}}, ` +
					`{manager: kubectl, time: "2000-01-01T00:` + test.changed + `Z", fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}]}, ` +
					`status: {conditions: [{type: NoWarnings, status: "True"}` + test.condition + `]}}`
				c := newCluster(t, object, repeatedWarnings("no Pod", test.until))
				c.serve("example.com/v1", "widgets", "Widget", true)
				if s, err := c.Examine(t.Context(), "Widget", "shop", "w"); err != nil || s.Doubt != test.want {
					t.Errorf("got  %s, %v\nwant %s", s.Doubt, err, test.want)
				}
			})
		})
	}
}

// Operators also warn while an object starts: it is healthy once it reports anything that is as it should be, by its own terms.
func TestWarningsOfStarts(t *testing.T) {
	condition := func(kind, status, since string) string {
		return `{type: ` + kind + `, status: "` + status + `", message: of ` + kind + `, lastTransitionTime: "2000-01-01T00:` + since + `Z"}`
	}
	conditions := func(list ...string) string { return "conditions: [" + strings.Join(list, ", ") + "]" }
	for name, status := range map[string]string{
		"a Workload of Kueue":               conditions(condition("QuotaReserved", "True", "00:40"), condition("Admitted", "True", "00:40")),
		"a KubeadmControlPlane":             conditions(condition("Available", "True", "00:10"), condition("MachinesReady", "True", "00:41"), condition("ScalingUp", "False", "00:41")),
		"a Provider of Crossplane":          conditions(condition("Installed", "True", "00:20"), condition("Healthy", "True", "00:55")),
		"a Gateway":                         conditions(condition("Accepted", "True", "00:20"), condition("Programmed", "True", "00:50")),
		"a LeaderWorkerSet after an update": conditions(condition("Available", "True", "00:40"), condition("UpdateInProgress", "False", "00:40")),
		"False since":                       conditions(condition("Open", "True", "00:10"), condition("AllReplicasReady", "False", "00:43")),
		"a Challenge":                       "state: valid, processing: false, presented: false",
		"an Application of Argo CD":         "sync: {status: Synced}, health: {status: Healthy}",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Minute)
				object := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, managedFields: [` +
					`{manager: operator, subresource: status, time: "2000-01-01T00:00:45Z", fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}]}, status: {` + status + `}}`
				c := newCluster(t, object, repeatedWarnings("not yet", "00:40"))
				c.serve("example.com/v1", "widgets", "Widget", true)
				if s, err := c.Examine(t.Context(), "Widget", "shop", "w"); err != nil || s.Status != Current || s.Doubt != "" {
					t.Errorf("got %s %s, %v", s.Status, s.Doubt, err)
				}
			})
		})
	}
}
