package health

import (
	"context"
	"testing"
	"time"
)

// A custom resource says what it waits for in conditions of its own, and a healthy one has many that are False.
func TestWhatACustomResourceWaitsFor(t *testing.T) {
	const pending = `{type: QuotaReserved, status: "False", reason: Pending, message: insufficient quota for cpu.}`
	const evicted = `{type: Evicted, status: "True", reason: Preempted, message: Preempted to accommodate w2}, {type: Requeued, status: "True", reason: Preempted, message: Preempted to accommodate w2}`
	for name, test := range map[string]struct{ status, want string }{
		"waits for quota": {`conditions: [` + pending + `]`, "its condition QuotaReserved is False: Pending: insufficient quota for cpu"},
		"waits again": {`conditions: [` + pending + `, ` + evicted + `]`,
			"its condition QuotaReserved is False: Pending: insufficient quota for cpu; its condition Evicted is True: Preempted: Preempted to accommodate w2"},
		"runs":                        {`conditions: [{type: Succeeded, status: Unknown, reason: Running, message: 1 step is left}]`, "its condition Succeeded is Unknown: Running: 1 step is left"},
		"without a message":           {`conditions: [{type: QuotaReserved, status: "False", reason: Pending}]`, ""},
		"has it":                      {`conditions: [{type: QuotaReserved, status: "True", message: admitted}, {type: PodsReady, status: "False", message: not yet}]`, ""},
		"has it again":                {`conditions: [{type: QuotaReserved, status: "True"}, {type: Evicted, status: "False", message: "Previously: Preempted"}]`, ""},
		"healthy, by what is not bad": {`conditions: [{type: Degraded, status: "False", message: well}, {type: Progressing, status: "False", message: idle}, {type: RollingOut, status: "False", message: none}]`, ""},
		"in progress, without a want": {`conditions: [{type: Progressing, status: "True", message: 1 of 2}]`, ""},
		"a change has not succeeded": {`conditions: [{type: ProvisioningSucceeded, status: "False", reason: QuotaExceeded, message: no capacity}, {type: NoConflicts, status: Unknown, message: not checked}]`,
			"its condition ProvisioningSucceeded is False: QuotaExceeded: no capacity; its condition NoConflicts is Unknown: not checked"},
		"a change has succeeded": {`conditions: [{type: FailoverReady, status: "True", message: ready}, ` + pending + `]`, ""},
		"protected":              {`conditions: [` + pending + `, {type: DeletionProtected, status: "True", message: deletion is refused}]`, ""},
		"limited": {`conditions: [` + pending + `, {type: ScalingLimited, status: "True", message: at its maximum}]`,
			"its condition QuotaReserved is False: Pending: insufficient quota for cpu; its condition ScalingLimited is True: at its maximum"},
		"healthy, with others":       {`conditions: [{type: Ready, status: "True"}, {type: Active, status: "False", message: no trigger}]`, ""},
		"usual condition":            {`conditions: [{type: Synced, status: "False", message: no luck}, ` + pending + `]`, "its condition Synced is False: no luck"},
		"without a status of theirs": {`conditions: [{type: ComparisonError, message: unreachable}]`, ""},
		"not ready":                  {`ready: false`, "its status.ready is false"},
		"ready is a text":            {`ready: "false"`, ""},
		"ready":                      {`ready: true`, ""},
		"not ready, yet it is":       {`ready: false, conditions: [{type: Ready, status: "True"}]`, ""},
		"not ready, as others say": {`ready: false, conditionStatus: {message: "", conditions: [{type: WebhookConfigured, status: "True"}, {type: RBACPermissionsGranted, status: "False", reason: Failed, message: missing permissions}]}`,
			"its status.ready is false: condition RBACPermissionsGranted is False: Failed: missing permissions"},
		"not ready, deeper": {`conditionStatus: {ready: false, message: x, conditions: [{type: RBACPermissionsGranted, status: "False", message: missing permissions}]}, autogen: {ready: false}`,
			"its status.conditionStatus.ready is false: x; condition RBACPermissionsGranted is False: missing permissions"},
	} {
		t.Run(name, func(t *testing.T) {
			object := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w}, status: {` + test.status + `}}`
			c := newCluster(t, object)
			c.serve("example.com/v1", "widgets", "Widget", true)
			s, err := c.Examine(t.Context(), "Widget", "shop", "w")
			if err != nil || s.Status != Current || s.Doubt != test.want {
				t.Errorf("%+v, %v", s, err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			if err := c.Wait(ctx, []Ref{s.Ref}, Options{Progress: func(w State) {
				if w.Doubt != test.want {
					t.Errorf("waited: %+v", w)
				}
			}}); err != nil {
				t.Error(err)
			}
		})
	}
}

// An operator that queues Pods gates them, and says why in a custom resource that the Pod owns.
func TestWhyAPodIsGated(t *testing.T) {
	const status = `status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: SchedulingGated, message: Scheduling is blocked due to non-empty scheduling gates}]}`
	gated := func(metadata string) string {
		return `{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p` + metadata + `}, spec: {schedulingGates: [{name: example.com/admission}]}, ` + status + `}`
	}
	const gate = "SchedulingGated: waits for the removal of scheduling gate example.com/admission (spec.schedulingGates)"
	const owned = `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: pod-p, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: uid-of-p, controller: true}]},
		status: {conditions: [{type: QuotaReserved, status: "False", reason: Pending, message: insufficient quota}]}}`
	const waits = "; condition QuotaReserved of Widget pod-p is False: Pending: insufficient quota"
	for name, test := range map[string]struct {
		objects []string
		want    string
	}{
		"by a user": {[]string{gated("")}, gate},
		"two": {[]string{`{apiVersion: v1, kind: Pod, metadata: {namespace: shop, name: p}, spec: {schedulingGates: [{name: a}, {name: b}]}, ` + status + `}`},
			"SchedulingGated: waits for the removal of scheduling gates a, b (spec.schedulingGates)"},
		"waits for quota": {[]string{gated(""), owned}, gate + waits},
		"of a Deployment": {[]string{justMade, newSet, gated(", " + ownedBySet), owned}, "Pod p: " + gate + waits},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.objects...)
			c.serve("example.com/v1", "widgets", "Widget", true)
			if got := c.Why(t.Context(), parseObject(t, test.objects[0])); got != test.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
