package health

import "testing"

// Why an operator keeps a Job suspended is in a custom resource that the Job owns.
func TestWhyAJobIsSuspended(t *testing.T) {
	const job = `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, status: {conditions: [{type: Suspended, status: "True"}]}}`
	workload := func(metadata, conditions string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: job-j, ` + metadata + `}, status: {conditions: [` + conditions + `]}}`
	}
	owned := `ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: ` + string(parseObject(t, job).GetUID()) + `, controller: true}]`
	const pending = `{type: Admitted, status: "False"}, {type: QuotaReserved, status: "False", reason: Pending, message: insufficient unused quota}, {type: Evicted, status: "True", message: x}`
	for name, test := range map[string]struct{ workload, want string }{
		"waits for quota":   {workload(owned, pending), "suspended: spec.suspend is true; condition QuotaReserved of Widget job-j is False: Pending: insufficient unused quota"},
		"admitted":          {workload(owned, `{type: QuotaReserved, status: "True", message: admitted}`), "suspended: spec.suspend is true"},
		"of another object": {workload("labels: {a: b}", pending), "suspended: spec.suspend is true"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, job, test.workload)
			c.serve("example.com/v1", "widgets", "Widget", true)
			if got := c.Why(t.Context(), parseObject(t, job)); got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
