package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// gatesEnv marks the process whose controllers are stopped, paused and made to
// fail: other tests need theirs.
const gatesEnv = "CTRLPLANE_E2E_GATES"

// TestGates runs the tests below in a process of its own, one after the other.
func TestGates(t *testing.T) {
	t.Parallel()
	if os.Getenv(gatesEnv) != "" {
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGate[A-Z]", "-test.v")
	cmd.Env = append(os.Environ(), gatesEnv+"=1")
	out, err := cmd.CombinedOutput()
	ran := strings.Count(string(out), "\n--- PASS: TestGate")
	if err != nil || ran < 7 || strings.Contains(string(out), "--- SKIP") {
		t.Fatalf("%v; %d passed:\n%s", err, ran, out)
	}
	t.Logf("%d passed", ran)
}

// hand is how each of them begins.
func hand(t *testing.T) (ns string, gates control.Gates) {
	t.Helper()
	if os.Getenv(gatesEnv) == "" {
		t.Skip("TestGates runs it, where nobody else needs the controllers")
	}
	return namespace(t), looker(t).Gates()
}

// do is for verbs that have to succeed.
func do(t *testing.T) func([]string, error) []string {
	return func(names []string, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
}

func numbered(from, to int) (all []*appsv1.Deployment) {
	for i := from; i < to; i++ {
		d := newDeployment("registry.invalid/app:1")
		d.Name = fmt.Sprintf("web-%d", i)
		d.Spec.Replicas = new(int32(4))
		labels := map[string]string{"app": d.Name}
		d.Spec.Selector, d.Spec.Template.Labels = selecting(labels), labels
		all = append(all, d)
	}
	return all
}

func createAll(t *testing.T, ns string, all []*appsv1.Deployment) {
	t.Helper()
	for _, d := range all {
		create(t, deployments(ns), d)
	}
}

func countPods(t *testing.T, ns string) int {
	t.Helper()
	return len(list(t, pods(ns), "").Items)
}

func stateOf(t *testing.T, name string) control.Controller {
	t.Helper()
	all, err := looker(t).Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(c control.Controller) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no controller %s", name)
	}
	return all[i]
}

func depth(queue string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (n int64, err error) {
		s, err := plane.server.Observer().Snapshot(ctx)
		for _, q := range s.Queues {
			if q.Name == queue {
				n += q.Depth
			}
		}
		return n, err
	}
}

// In the middle of 50 × 4 Pods, no Pod is created any more though the queue
// grows; three steps create three; then all is as it would have been.
func TestGatePauseStepResume(t *testing.T) {
	ns, gates := hand(t)
	ctx := t.Context()
	all := numbered(0, 50)
	createAll(t, ns, all[:25])
	await(t, "first Pods", listPods(ns), func(l []corev1.Pod) bool { return len(l) >= 20 })
	if names := do(t)(gates.Pause(ctx, "replicaset,replicaset-controller")); !slices.Equal(names, []string{"replicaset-controller"}) {
		t.Errorf("paused: %v", names)
	}
	paused := countPods(t, ns)
	createAll(t, ns, all[25:])
	await(t, "growing queue", depth("replicaset"), func(n int64) bool { return n >= 10 })
	held, err := gates.Held(ctx, "replicaset", 50)
	if err != nil || held.Total == 0 || !slices.ContainsFunc(held.Items, func(h control.Held) bool {
		return h.Verb == "create" && h.Object.Kind == "Pod" && h.Object.Namespace == ns && strings.HasPrefix(h.Object.Name, "web-") && len(h.Body) > 0
	}) {
		t.Errorf("held: %v, %s", err, show(held))
	}
	if got := countPods(t, ns); got != paused {
		t.Errorf("%d Pods, %d when it was paused", got, paused)
	}
	if c := stateOf(t, "replicaset-controller"); c.State != "paused" || c.Reason != "its writes are held" {
		t.Errorf("state: %+v", c)
	}

	for made := 0; made < 3; { // its events are writes, too
		s, err := gates.Step(ctx, "replicaset")
		if err != nil || s == nil || s.Status >= 400 {
			t.Fatalf("step: %+v, %v", s, err)
		}
		if s.Verb == "create" && s.Object.Resource == "pods" {
			made++
			get(t, pods(ns), s.Object.Name) // it is there when the step is over
		}
		if got := countPods(t, ns); got != paused+made {
			t.Fatalf("%d Pods after %d were let through, %d when it was paused", got, made, paused)
		}
	}

	do(t)(gates.Resume(ctx, "replicaset"))
	await(t, "all Pods", listPods(ns), func(l []corev1.Pod) bool {
		return len(l) == 200 && !slices.ContainsFunc(l, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	})
	if c := stateOf(t, "replicaset-controller"); c.State != "running" || c.Reason != "" {
		t.Errorf("state: %+v", c)
	}
}

func listPods(ns string) func(context.Context) ([]corev1.Pod, error) {
	return func(ctx context.Context) ([]corev1.Pod, error) {
		l, err := pods(ns).List(ctx, metav1.ListOptions{})
		return l.Items, err
	}
}

// ten are controllers of every kind, with those that others depend on.
const ten = "deployment,replicaset,job,cronjob,statefulset,daemonset,garbagecollector,namespace,endpointslice,storage-version-migrator-controller"

// Controllers that are stopped do nothing; when they are started they do what
// they have missed, and leave nothing of their earlier lives behind.
func TestGateStopAndStart(t *testing.T) {
	ns, gates := hand(t)
	ctx := t.Context()
	round := func(names string, stopped, started int) {
		t.Helper()
		if got := do(t)(gates.Stop(ctx, names)); len(got) < stopped {
			t.Errorf("stopped: %v", got)
		}
		do(t)(gates.Stop(ctx, names)) // twice is once
		if c := stateOf(t, "deployment-controller"); c.State != "off" || c.Reason != "stopped" {
			t.Errorf("state: %+v", c)
		}
		created := create(t, deployments(ns), newDeployment("registry.invalid/app:1"))
		if got := do(t)(gates.Start(ctx, names)); len(got) < started {
			t.Errorf("started: %v", got)
		}
		do(t)(gates.Start(ctx, names))
		awaitPods(t, ns, "app=web", 3)
		if d := get(t, deployments(ns), "web"); d.UID != created.UID {
			t.Errorf("another Deployment: %s", show(d))
		}
		remove(t, deployments(ns), "web")
		await(t, "collection of the garbage", listPods(ns), func(l []corev1.Pod) bool { return len(l) == 0 })
	}
	round(ten, 10, 10)
	before := runtime.NumGoroutine()
	const rounds = 8
	for range rounds {
		round(ten, 10, 10)
	}
	// One that each life of each controller leaves would be 80.
	await(t, "end of goroutines", func(context.Context) (int, error) { return runtime.NumGoroutine() - before, nil },
		func(more int) bool { return more < 3*rounds })
	for range 2 {
		round(control.All, 35, 35)
	}
	for _, u := range plane.server.Units() {
		if u.State == "failed" || u.Reason == "stopped" {
			t.Errorf("%+v", u)
		}
	}
}

// A stopped controller has refused what it had held; nothing of it is written
// when it is started again, but by the controller that runs then.
func TestGateStopOfPaused(t *testing.T) {
	ns, gates := hand(t)
	ctx := t.Context()
	do(t)(gates.Pause(ctx, "replicaset"))
	create(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	await(t, "held write", func(ctx context.Context) (control.HeldList, error) { return gates.Held(ctx, "replicaset", 10) },
		func(l control.HeldList) bool { return l.Total > 0 })
	do(t)(gates.Stop(ctx, "replicaset"))
	if held, err := gates.Held(ctx, "replicaset", 10); err != nil || held.Total != 0 || countPods(t, ns) != 0 {
		t.Errorf("%v; held: %s; %d Pods", err, show(held), countPods(t, ns))
	}
	if _, err := gates.Pause(ctx, "replicaset"); err == nil || !strings.HasSuffix(err.Error(), "controller replicaset-controller: it is off: start it first") {
		t.Errorf("pause of a stopped one: %v", err)
	}
	do(t)(gates.Start(ctx, "replicaset"))
	awaitPods(t, ns, "app=web", 3)
}

func TestGateFailAndRestore(t *testing.T) {
	for _, f := range []control.Fault{{Rate: 1, Code: "500"}, {Rate: 1, Code: "409", Verb: "create", Resource: "pods"}, {Rate: 1, Code: "timeout"}} {
		t.Run(f.Code, func(t *testing.T) {
			ns, gates := hand(t)
			ctx := t.Context()
			do(t)(gates.Fail(ctx, "replicaset", f))
			create(t, deployments(ns), newDeployment("registry.invalid/app:1"))
			q := observe.Query{Controller: "replicaset-controller", Object: &observe.Object{Resource: "pods", Namespace: ns}}
			await(t, "failing creations", recordsOf[*observe.Called](looker(t), q), func(l []*observe.Called) bool {
				failed := slices.DeleteFunc(l, func(c *observe.Called) bool {
					return c.Verb != "create" || !c.Failed() || !strings.Contains(c.Error, "made to fail by hand") || c.Conflict != (f.Code == "409")
				})
				return len(failed) >= 3 // it has tried again
			})
			if got := countPods(t, ns); got != 0 {
				t.Errorf("%d Pods", got)
			}
			if c := stateOf(t, "replicaset-controller"); c.State != "running" || !strings.HasSuffix(c.Reason, "fail: "+f.Code) {
				t.Errorf("state: %+v", c)
			}
			do(t)(gates.Restore(ctx, control.All))
			awaitPods(t, ns, "app=web", 3)
			if c := stateOf(t, "replicaset-controller"); c.Reason != "" {
				t.Errorf("state: %+v", c)
			}
		})
	}
}

func TestGateDelay(t *testing.T) {
	ns, gates := hand(t)
	ctx := t.Context()
	do(t)(gates.Delay(ctx, "deployment", time.Hour))
	create(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	await(t, "work that waits", func(ctx context.Context) (n int64, err error) {
		s, err := plane.server.Observer().Snapshot(ctx)
		for _, q := range s.Queues {
			if q.Name == "deployment" {
				n += q.InFlight
			}
		}
		return n, err
	}, func(n int64) bool { return n == 1 })
	do(t)(gates.Restore(ctx, "deployment"))
	awaitPods(t, ns, "app=web", 3)
}

func TestGateRefusals(t *testing.T) {
	_, gates := hand(t)
	ctx := t.Context()
	_, unknown := gates.Stop(ctx, "job,deploymnt")
	_, step := gates.Step(ctx, "job")
	_, two := gates.Held(ctx, "job,deployment", 1)
	_, all := gates.Held(ctx, control.All, 1)
	_, rate := gates.Fail(ctx, "job", control.Fault{Rate: 2, Code: "500"})
	_, delay := gates.Delay(ctx, "job", -time.Second)
	_, off := gates.Start(ctx, "kube-scheduler")
	for want, err := range map[string]error{
		`unknown controller "deploymnt": did you mean "deployment"?`:                unknown,
		"controller job-controller: it is not paused: pause it first":               step,
		`"job,deployment": name one controller`:                                     two,
		`unknown controller "*": "ctrlplane controllers" lists them`:                all,
		"rate 2: choose between 0 and 1":                                            rate,
		"delay -1s: choose a longer one, or restore the controller":                 delay,
		"controller kube-scheduler cannot be started: turned off by --no-scheduler": off,
	} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if c := stateOf(t, "job-controller"); c.State != "running" {
		t.Errorf("the one that was named well: %+v", c)
	}
}

// All that runs is paused, and is left so, with writes held: TestMain's Close
// has to succeed all the same. It is the last test in this file.
func TestGateLeftPaused(t *testing.T) {
	ns, gates := hand(t)
	ctx := t.Context()
	do(t)(gates.Pause(ctx, control.All))
	do(t)(gates.Resume(ctx, control.All))
	do(t)(gates.Pause(ctx, "replicaset,endpointslice"))
	createAll(t, ns, numbered(0, 40))
	await(t, "held writes", func(ctx context.Context) (control.HeldList, error) { return gates.Held(ctx, "replicaset", 1) },
		func(l control.HeldList) bool { return l.Total >= 5 })
}
