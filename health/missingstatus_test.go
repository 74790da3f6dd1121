package health

import (
	"context"
	"strings"
	"testing"
	"time"
)

// A custom resource whose status no client has written counts as healthy, and it is said that it has none.
func TestMissingStatus(t *testing.T) {
	const byUser = `{manager: kubectl, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}`
	const byOperator = `{manager: operator, operation: Update, apiVersion: example.com/v1, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}`
	for name, test := range map[string]struct {
		object    string
		hasStatus bool // the kind
		want      string
		says      string // after the message of kstatus
	}{
		"none":                  {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default, creationTimestamp: "2026-01-01T00:00:00Z"}}`, true, "widgets.example.com", ", but it has no status yet"},
		"empty":                 {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, status: {}}`, true, "widgets.example.com", ", but it has no status yet"},
		"default of its schema": {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default, managedFields: [` + byUser + `]}, status: {phase: Waiting}}`, true, "widgets.example.com", ", but no client has written its status"},
		"condition that is a default": {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default, managedFields: [` + byUser + `]},
			status: {conditions: [{type: Accepted, status: Unknown, reason: Pending, message: Waiting for controller}]}}`, true, "widgets.example.com", ", but its condition Accepted is Unknown: Pending: Waiting for controller; no client has written its status"},
		"written":           {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default, managedFields: [` + byUser + `, ` + byOperator + `]}, status: {phase: Ready}}`, true, "", ""},
		"unknown who has":   {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}, status: {phase: Ready}}`, true, "", ""},
		"its kind has none": {`{apiVersion: example.com/v1, kind: Widget, metadata: {name: w, namespace: default}}`, false, "", ""},
		"built-in":          {`{apiVersion: v1, kind: ConfigMap, metadata: {name: w, namespace: default}}`, true, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.object)
			c.serve("example.com/v1", "widgets", "Widget", true)
			if test.hasStatus {
				c.serve("example.com/v1", "widgets/status", "Widget", true)
			}
			ref := RefOf(parseObject(t, test.object))
			examined, err := c.Examine(t.Context(), ref.Kind, ref.Namespace, ref.Name)
			if err != nil || examined.Status != Current || examined.Unreported != test.want {
				t.Errorf("examined: %+v, %v", examined, err)
			}
			if created := parseObject(t, test.object).GetCreationTimestamp(); examined.Unreported != "" && !examined.Created.Equal(created.Time) {
				t.Errorf("created %v, not %v", examined.Created, created)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			var waited State
			if err := c.Wait(ctx, []Ref{ref}, Options{Progress: func(s State) { waited = s }}); err != nil {
				t.Error(err)
			}
			if want := "Resource is current" + test.says; test.want != "" && waited.Message != want {
				t.Errorf("waited: %s; want %s", waited.Message, want)
			}
			if waited.Unreported != test.want || waited.Message != examined.Message {
				t.Errorf("waited: %+v", waited)
			}
		})
	}
}

// Of an object that is not healthy it is said whether a client has reported its state: its kind has a phase that decides, or
// its schema has a default that says that it was not observed, or its operator has ended.
func TestUnreportedState(t *testing.T) {
	const byUser = `managedFields: [{manager: kubectl, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}]`
	const byOperator = `managedFields: [{manager: operator, operation: Update, apiVersion: example.com/v1, subresource: status, fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}]`
	const metadata = `metadata: {name: w, namespace: shop, generation: 2, creationTimestamp: "2026-01-01T00:00:00Z", `
	const widget, rollout = `{apiVersion: example.com/v1, kind: Widget, ` + metadata, `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, ` + metadata
	const widgets, rollouts = "widgets.example.com", "rollouts.argoproj.io"
	for name, test := range map[string]struct {
		object      string
		want        string // the kind
		hasNoStatus bool
	}{
		"no phase":                    {rollout + `}}`, rollouts, true},
		"a default of its schema":     {widget + byUser + `}, status: {observedGeneration: -1}}`, widgets, true},
		"not observed since a change": {widget + byOperator + `}, status: {observedGeneration: 1, conditions: [{type: Ready, status: "True"}]}}`, widgets, false},
		"the same, as a string":       {rollout + byOperator + `}, status: {observedGeneration: "1", phase: Healthy}}`, rollouts, false},
		"observed":                    {widget + byOperator + `}, status: {observedGeneration: 2, conditions: [{type: Ready, status: "False"}]}}`, "", false},
		"in progress":                 {rollout + byOperator + `}, status: {observedGeneration: "2", phase: Progressing}}`, "", false},
		"deleted":                     {widget + `deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/f]}}`, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.object)
			for gv, kind := range map[string]string{"example.com/v1": "Widget", "argoproj.io/v1alpha1": "Rollout"} {
				c.serve(gv, strings.ToLower(kind)+"s", kind, true)
				c.serve(gv, strings.ToLower(kind)+"s/status", kind, true)
			}
			ref := RefOf(parseObject(t, test.object))
			examined, err := c.Examine(t.Context(), ref.Kind, ref.Namespace, ref.Name)
			if err != nil || examined.Status == Current || examined.Unreported != test.want || examined.Created.IsZero() == test.hasNoStatus {
				t.Errorf("examined: %+v, %v", examined, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var waited State
			_ = c.Wait(ctx, []Ref{ref}, Options{Progress: func(s State) { waited = s; cancel() }})
			if waited.Unreported != test.want || waited.Message != StateOf(parseObject(t, test.object)).Message {
				t.Errorf("waited: %+v", waited)
			}
		})
	}
}
