package health

import "testing"

// A warning that was solved before the present state is not its reason.
func TestSolvedWarnings(t *testing.T) {
	const pending = "LatestGenerationNotObserved: Widget generation is 6, but latest observed generation is 5"
	const both = pending + "; last warning: Unsupported: no scale down"
	widget := func(conditions, spec string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, generation: 6, managedFields: [` +
			`{manager: kubectl, time: "` + spec + `", fieldsType: FieldsV1, fieldsV1: {"f:spec": {}}}, ` +
			`{manager: labeler, time: "2026-01-01T01:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:metadata": {}}}, ` +
			`{manager: operator, subresource: status, time: "2026-01-01T01:00:00Z", fieldsType: FieldsV1, fieldsV1: {"f:status": {}}}]}, ` +
			`status: {observedGeneration: 5, conditions: [` + conditions + `]}}`
	}
	condition := func(kind, status, since string) string {
		return `{type: ` + kind + `, status: "` + status + `", message: m, lastTransitionTime: "2026-01-01T00:` + since + `Z"}`
	}
	const before, after = "2026-01-01T00:09:00Z", "2026-01-01T00:20:00Z"
	for name, test := range map[string]struct{ conditions, spec, want string }{
		"solved":                    {condition("ReconcileSuccess", "True", "10:04"), after, pending},
		"ready since":               {condition("Ready", "True", "10:04"), after, pending},
		"of the same moment":        {condition("ReconcileSuccess", "True", "10:02"), before, both},
		"still the reason":          {condition("ReconcileSuccess", "True", "09:00"), before, both},
		"not a success":             {condition("AllReplicasReady", "True", "10:04") + ", " + condition("NoWarnings", "True", "10:04"), before, both},
		"a failure since":           {condition("ReconcileSuccess", "False", "10:04"), before, both},
		"one of two":                {condition("Ready", "Unknown", "10:04") + ", " + condition("Synced", "True", "10:04"), before, both},
		"before the last change":    {condition("ReconcileSuccess", "False", "10:00"), after, pending + "; last warning, before its last change: Unsupported: no scale down"},
		"of the change":             {"", "2026-01-01T00:10:02Z", both},
		"stalled":                   {condition("Synced", "True", "10:04") + ", " + condition("Stalled", "True", "09:00"), before, both},
		"another without a time":    {`{type: Open, status: "True", lastTransitionTime: never}, ` + condition("Synced", "True", "10:04"), before, pending},
		"without a time":            {`{type: ReconcileSuccess, status: "True"}`, before, both},
		"a time that is not a time": {`{type: ReconcileSuccess, status: "True", lastTransitionTime: never}`, before, both},
	} {
		t.Run(name, func(t *testing.T) {
			object := widget(test.conditions, test.spec)
			c := newCluster(t, object, warning("w", "Unsupported", "no scale down", "2026-01-01T00:10:00Z"))
			c.serve("example.com/v1", "widgets", "Widget", true)
			if got := c.Why(t.Context(), parseObject(t, object)); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
