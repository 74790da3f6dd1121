package health

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

// Why an operator keeps a Job suspended is in a custom resource that the Job owns.
func TestWhyAJobIsSuspended(t *testing.T) {
	const job = `{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j}, status: {conditions: [{type: Suspended, status: "True"}]}}`
	workload := func(metadata, conditions string) string {
		return `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: job-j, ` + metadata + `}, status: {conditions: [` + conditions + `]}}`
	}
	owned := `ownerReferences: [{apiVersion: batch/v1, kind: Job, name: j, uid: ` + string(parseObject(t, job).GetUID()) + `, controller: true}]`
	const pending = `{type: Admitted, status: "False"}, {type: QuotaReserved, status: "False", reason: Pending, message: insufficient unused quota}`
	const preempted = `, {type: Evicted, status: "True", reason: Preempted, message: for w2}, {type: Preempted, status: "True", reason: InQueue, message: for w2}`
	const waits = "suspended: spec.suspend is true; condition QuotaReserved of Widget job-j is False: Pending: insufficient unused quota"
	for name, test := range map[string]struct{ workload, want string }{
		"waits for quota":   {workload(owned, pending), waits},
		"preempted":         {workload(owned, pending+preempted), waits + "; condition Evicted of Widget job-j is True: Preempted: for w2"},
		"was preempted":     {workload(owned, pending+`, {type: Preempted, status: "False", message: "Previously: for w2"}`), waits},
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

// The reasons of many suspended Jobs have a common time limit: what the server serves is asked once.
func TestSuspendedJobsShareRequests(t *testing.T) {
	var jobs []string
	var refs []Ref
	for i := range 20 {
		jobs = append(jobs, fmt.Sprintf(`{apiVersion: batch/v1, kind: Job, metadata: {namespace: shop, name: j%d}, status: {conditions: [{type: Suspended, status: "True"}]}}`, i))
		refs = append(refs, RefOf(parseObject(t, jobs[i])))
	}
	c := newCluster(t, jobs...)
	c.serve("example.com/v1", "widgets", "Widget", true)
	tracked := newTracker(refs, Options{})
	for i := range tracked.objects {
		tracked.applyUpdate(objectUpdate{entry: i, ref: refs[i], object: parseObject(t, jobs[i])})
	}
	err := c.notHealthy(t.Context(), tracked, nil)
	if found, ok := errors.AsType[*NotHealthyError](err); !ok || len(found.Objects) != len(jobs) {
		t.Fatal(err)
	}
	if n := len(c.kinds.Actions()); n > 2*len(c.kinds.Resources) {
		t.Errorf("%d requests for what is served", n)
	}
	lists := 0
	for _, a := range c.objects.Actions() {
		if a.Matches("list", "widgets") {
			lists++
		}
	}
	if lists != 1 {
		t.Errorf("%d lists of widgets", lists)
	}
}

// The reason of an object that is not healthy is found although discovery fails then.
func TestExamineWithoutDiscoveryOfTheStatus(t *testing.T) {
	c := newCluster(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w, generation: 2}, status: {observedGeneration: 1, conditions: []}}`)
	c.serve("example.com/v1", "widgets", "Widget", true)
	read := false
	c.objects.PrependReactor("get", "widgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		read = true
		return false, nil, nil
	})
	c.kinds.PrependReactor("get", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return read, nil, errors.New("away") })
	if s, err := c.Examine(t.Context(), "Widget", "shop", "w"); err != nil || !strings.HasPrefix(s.Message, "LatestGenerationNotObserved") {
		t.Errorf("%+v, %v", s, err)
	}
}

// An object that is suspended may be healthy: it is said which field suspends it.
func TestExamineSaysWhatSuspends(t *testing.T) {
	for spec, want := range map[string]string{"{suspend: true}": "spec.suspend", "{paused: true}": "spec.paused", "{suspend: false}": "", `{suspend: "yes"}`: "", "3": ""} {
		object := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w}, spec: ` + spec + `, status: {conditions: [{type: Ready, status: "True"}]}}`
		c := newCluster(t, object)
		c.serve("example.com/v1", "widgets", "Widget", true)
		if s, err := c.Examine(t.Context(), "Widget", "shop", "w"); err != nil || s.Status != Current || s.Suspended != want {
			t.Errorf("%s: %+v, %v", spec, s, err)
		}
	}
}

// Of a custom resource that is not healthy it is said that it is suspended: its controller may do nothing for it.
func TestSuspendedAndNotReady(t *testing.T) {
	const notReady = `{type: Ready, status: "False", reason: HealthCheckFailed, message: timed out, lastTransitionTime: "2026-01-01T00:01:00Z"}`
	for name, test := range map[string]struct{ spec, condition, want string }{
		"suspended":             {"{suspend: true}", notReady, "suspended: spec.suspend is true; HealthCheckFailed: timed out"},
		"paused":                {"{paused: true}", notReady, "paused: spec.paused is true; HealthCheckFailed: timed out"},
		"paused, without words": {"{paused: true}", `{type: Ready, status: "False"}`, "paused: spec.paused is true"},
		"not":                   {"{suspend: false}", notReady, "HealthCheckFailed: timed out"},
		"ready":                 {"{suspend: true}", `{type: Ready, status: "True"}`, "Resource is Ready"},
	} {
		object := `{apiVersion: example.com/v1, kind: Widget, metadata: {namespace: shop, name: w}, spec: ` + test.spec + `, status: {conditions: [` + test.condition + `]}}`
		c := newCluster(t, object, warning("w", "Older", "of before", "2026-01-01T00:00:00Z"))
		c.serve("example.com/v1", "widgets", "Widget", true)
		if got := StateOf(parseObject(t, object)).Message; got != test.want {
			t.Errorf("%s: state: %s", name, got)
		}
		if s, err := c.Examine(t.Context(), "Widget", "shop", "w"); err != nil || test.condition == notReady && s.Message != test.want {
			t.Errorf("%s: examined: %s, %v", name, s.Message, err)
		}
	}
}
