package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/health/stepping"
	"github.com/ctrlplane/ctrlplane/internal/objectdiff"
	"github.com/ctrlplane/ctrlplane/observe"
)

// interventionsEnv marks the process whose controllers are stopped, paused and made to
// fail: other tests need theirs.
const interventionsEnv = "CTRLPLANE_E2E_GATES"

// TestInterventions runs the tests below in a process of its own, one after the other.
func TestInterventions(t *testing.T) {
	t.Parallel()
	if os.Getenv(interventionsEnv) != "" {
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestGate[A-Z]", "-test.v")
	cmd.Env = append(os.Environ(), interventionsEnv+"=1")
	out, err := cmd.CombinedOutput()
	ran := strings.Count(string(out), "\n--- PASS: TestGate")
	if err != nil || ran < 10 || strings.Contains(string(out), "--- SKIP") {
		t.Fatalf("%v; %d passed:\n%s", err, ran, out)
	}
	t.Logf("%d passed", ran)
}

// beginIntervention is how each of them begins.
func beginIntervention(t *testing.T) (ns string, gates control.Interventions) {
	t.Helper()
	if os.Getenv(interventionsEnv) == "" {
		t.Skip("TestInterventions runs it, where nobody else needs the controllers")
	}
	gates = newRemoteClient(t).Interventions()
	t.Cleanup(func() {
		if t.Failed() { // what it leaves would fail the others, too
			mustSucceed(t)(gates.Clear(context.Background(), []string{control.AllControllers}))
		}
	})
	return createNamespace(t), gates
}

// awaitNamespacesDeleted waits until nothing is left of the namespaces of earlier tests.
func awaitNamespacesDeleted(t *testing.T) {
	t.Helper()
	await(t, "end of what earlier tests have left", listBySelector(controlPlane.client.CoreV1().Namespaces(), ""), func(l *corev1.NamespaceList) bool {
		return !slices.ContainsFunc(l.Items, func(n corev1.Namespace) bool { return n.DeletionTimestamp != nil })
	})
}

// mustSucceed is for verbs that have to succeed.
func mustSucceed(t *testing.T) func([]string, error) []string {
	return func(names []string, err error) []string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return names
	}
}

func numberedDeployments(from, to int) (all []*appsv1.Deployment) {
	for i := from; i < to; i++ {
		d := newDeployment("registry.invalid/app:1")
		d.Name = fmt.Sprintf("web-%d", i)
		d.Spec.Replicas = new(int32(5))
		labels := map[string]string{"app": d.Name}
		d.Spec.Selector, d.Spec.Template.Labels = labelSelector(labels), labels
		all = append(all, d)
	}
	return all
}

func createDeployments(t *testing.T, ns string, all []*appsv1.Deployment) {
	t.Helper()
	for _, d := range all {
		createObject(t, deployments(ns), d)
	}
}

func countPods(t *testing.T, ns string) int {
	t.Helper()
	return len(listObjects(t, pods(ns), "").Items)
}

func controllerState(t *testing.T, name string) control.Controller {
	t.Helper()
	all, err := newRemoteClient(t).Controllers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(c control.Controller) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no controller %s", name)
	}
	return all[i]
}

func queueDepth(queue string) func(context.Context) (int64, error) {
	return func(ctx context.Context) (n int64, err error) {
		s, err := controlPlane.server.Observer().Snapshot(ctx)
		for _, q := range s.Queues {
			if q.Name == queue {
				n += q.Depth
			}
		}
		return n, err
	}
}

// In the middle of 200 × 5 Pods, no Pod is created any more though the queue
// grows; three steps create three; then all is as it would have been.
func TestInterventionPauseStepResume(t *testing.T) {
	ns, gates := beginIntervention(t)
	ctx := t.Context()
	all := numberedDeployments(0, 200)
	createDeployments(t, ns, all[:100])
	await(t, "first Pods", listPods(ns), func(l []corev1.Pod) bool { return len(l) >= 20 })
	if names := mustSucceed(t)(gates.Pause(ctx, []string{"replicaset", "replicaset-controller"})); !slices.Equal(names, []string{"replicaset-controller"}) {
		t.Errorf("paused: %v", names)
	}
	paused := countPods(t, ns)
	createDeployments(t, ns, all[100:])
	await(t, "growing queue", queueDepth("replicaset"), func(n int64) bool { return n >= 95 })
	held, err := gates.HeldWrites(ctx, "replicaset", 50)
	if err != nil || held.Total == 0 || !slices.ContainsFunc(held.Items, func(h control.HeldWrite) bool {
		return h.Verb == "create" && h.Object.Kind == "Pod" && h.Object.Namespace == ns && strings.HasPrefix(h.Object.Name, "web-") && len(h.Body) > 0
	}) {
		t.Errorf("held: %v, %s", err, toYAML(held))
	}
	if got := countPods(t, ns); got != paused {
		t.Errorf("%d Pods, %d when it was paused", got, paused)
	}
	if c := controllerState(t, "replicaset-controller"); c.State != "paused" || c.Reason != "its writes are held" {
		t.Errorf("state: %+v", c)
	}

	for made := 0; made < 3; { // its events are writes, too
		s, err := gates.Step(ctx, "replicaset")
		if err != nil || s == nil || s.Status >= 400 {
			t.Fatalf("step: %+v, %v", s, err)
		}
		if s.Verb == "create" && s.Object.Resource == "pods" {
			made++
			pod := getObject(t, pods(ns), s.Object.Name) // it is there when the step is over
			if len(s.Before) != 0 || !strings.Contains(string(s.After), string(pod.UID)) || strings.Contains(string(s.After), "managedFields") {
				t.Errorf("before: %s, after: %s", s.Before, s.After)
			}
		}
		if got := countPods(t, ns); got != paused+made {
			t.Fatalf("%d Pods after %d were let through, %d when it was paused", got, made, paused)
		}
	}

	mustSucceed(t)(gates.Resume(ctx, []string{"replicaset"}))
	await(t, "all Pods", listPods(ns), func(l []corev1.Pod) bool {
		return len(l) == 1000 && !slices.ContainsFunc(l, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	})
	if c := controllerState(t, "replicaset-controller"); c.State != "running" || c.Reason != "" {
		t.Errorf("state: %+v", c)
	}
}

func listPods(ns string) func(context.Context) ([]corev1.Pod, error) {
	return func(ctx context.Context) ([]corev1.Pod, error) {
		l, err := pods(ns).List(ctx, metav1.ListOptions{})
		return l.Items, err
	}
}

// interventionRoundsEnv is how often every controller is stopped and started; 20 unless set.
const interventionRoundsEnv = "CTRLPLANE_GATE_ROUNDS"

// Controllers that are stopped do nothing; when they are started they do what
// they have missed, and leave nothing of their earlier lives behind: no
// goroutine, no event handler, no queue.
func TestInterventionStopAndStart(t *testing.T) {
	ns, gates := beginIntervention(t)
	awaitNamespacesDeleted(t)
	ctx := t.Context()
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv(interventionRoundsEnv)); err == nil {
		rounds = n
	}
	round := func() {
		t.Helper()
		stopped := mustSucceed(t)(gates.Stop(ctx, []string{control.AllControllers}))
		if len(stopped) < 45 || !slices.Contains(stopped, "replicaset-controller") {
			t.Errorf("stopped: %v", stopped)
		}
		if again := mustSucceed(t)(gates.Stop(ctx, []string{control.AllControllers})); len(again) != 0 { // twice is once
			t.Errorf("stopped again: %v", again)
		}
		if c := controllerState(t, "deployment-controller"); c.State != "off" || c.Reason != "stopped" {
			t.Errorf("state: %+v", c)
		}
		created := createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
		s, err := controlPlane.server.Observer().Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if started := mustSucceed(t)(gates.Start(ctx, []string{control.AllControllers})); !slices.Equal(started, stopped) {
			t.Errorf("started: %v", started)
		}
		mustSucceed(t)(gates.Start(ctx, []string{"deployment", "replicaset"}))
		awaitPods(t, ns, "app=web", 3)
		if d := getObject(t, deployments(ns), "web"); d.UID != created.UID {
			t.Errorf("another Deployment: %s", toYAML(d))
		}
		set := listObjects(t, controlPlane.client.AppsV1().ReplicaSets(ns), "").Items[0]
		if n := countDeliveries(t, "deployment-controller", observe.Object{Group: "apps", Resource: "replicasets", Namespace: ns, Name: set.Name, UID: string(set.UID)}, s.Journal.Last); n != 1 {
			t.Errorf("%d handlers of the deployment controller were told of its ReplicaSet", n)
		}
		deleteObject(t, deployments(ns), "web")
		await(t, "collection of the garbage", listPods(ns), func(l []corev1.Pod) bool { return len(l) == 0 })
	}
	round()
	before := currentResources(t)
	for range rounds {
		round()
	}
	awaitNoGrowth(t, before, rounds)
	for _, u := range controlPlane.server.ControllerStatuses() {
		if u.State == "failed" || u.Reason == "stopped" {
			t.Errorf("%+v", u)
		}
	}
}

// A stopped controller has refused what it had held; nothing of it is written
// when it is started again, but by the controller that runs then.
func TestInterventionStopWhilePaused(t *testing.T) {
	ns, gates := beginIntervention(t)
	ctx := t.Context()
	mustSucceed(t)(gates.Pause(ctx, []string{"replicaset"}))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	await(t, "held write", func(ctx context.Context) (control.HeldWriteList, error) {
		return gates.HeldWrites(ctx, "replicaset", 10)
	},
		func(l control.HeldWriteList) bool { return l.Total > 0 })
	mustSucceed(t)(gates.Stop(ctx, []string{"replicaset"}))
	if held, err := gates.HeldWrites(ctx, "replicaset", 10); err != nil || held.Total != 0 || countPods(t, ns) != 0 {
		t.Errorf("%v; held: %s; %d Pods", err, toYAML(held), countPods(t, ns))
	}
	if _, err := gates.Pause(ctx, []string{"replicaset"}); err == nil || !strings.HasSuffix(err.Error(), "controller replicaset-controller: it is off: start it first") {
		t.Errorf("pause of a stopped one: %v", err)
	}
	mustSucceed(t)(gates.Start(ctx, []string{"replicaset"}))
	awaitPods(t, ns, "app=web", 3)
}

func TestInterventionFailAndClear(t *testing.T) {
	for _, f := range []control.Fault{{Rate: 1, Code: "500"}, {Rate: 1, Code: "409", Verb: "create", Resource: "pods"}, {Rate: 1, Code: "timeout"}} {
		t.Run(f.Code, func(t *testing.T) {
			ns, gates := beginIntervention(t)
			ctx := t.Context()
			mustSucceed(t)(gates.Fail(ctx, []string{"replicaset"}, f))
			createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
			q := observe.Query{Controller: "replicaset-controller", Object: &observe.Object{Resource: "pods", Namespace: ns}}
			await(t, "failing creations", fetchRecords[*observe.Called](newRemoteClient(t), q), func(l []*observe.Called) bool {
				failed := slices.DeleteFunc(l, func(c *observe.Called) bool {
					return c.Verb != "create" || !c.Failed() || !strings.Contains(c.Error, "fault injected by ctrlplane") || c.Conflict != (f.Code == "409")
				})
				return len(failed) >= 3 // it has tried again
			})
			if got := countPods(t, ns); got != 0 {
				t.Errorf("%d Pods", got)
			}
			if c := controllerState(t, "replicaset-controller"); c.State != "running" || !strings.HasSuffix(c.Reason, "fail: "+f.Code) {
				t.Errorf("state: %+v", c)
			}
			mustSucceed(t)(gates.Clear(ctx, []string{control.AllControllers}))
			awaitPods(t, ns, "app=web", 3)
			if c := controllerState(t, "replicaset-controller"); c.Reason != "" {
				t.Errorf("state: %+v", c)
			}
		})
	}
}

func TestInterventionDelay(t *testing.T) {
	ns, gates := beginIntervention(t)
	ctx := t.Context()
	awaitNamespacesDeleted(t) // all that waits is of this test
	mustSucceed(t)(gates.Delay(ctx, []string{"deployment"}, time.Hour))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	await(t, "work that waits", func(ctx context.Context) (n int64, err error) {
		s, err := controlPlane.server.Observer().Snapshot(ctx)
		for _, q := range s.Queues {
			if q.Name == "deployment" {
				n += q.InFlight
			}
		}
		return n, err
	}, func(n int64) bool { return n == 1 })
	mustSucceed(t)(gates.Clear(ctx, []string{"deployment"}))
	awaitPods(t, ns, "app=web", 3)
}

func TestInterventionErrors(t *testing.T) {
	_, gates := beginIntervention(t)
	ctx := t.Context()
	_, unknown := gates.Stop(ctx, []string{"job", "deploymnt"})
	_, step := gates.Step(ctx, "job")
	_, resource := gates.Fail(ctx, []string{"job"}, control.Fault{Rate: 1, Code: "500", Resource: "pod"})
	_, kind := gates.Fail(ctx, []string{"job"}, control.Fault{Rate: 1, Code: "500", Resource: "wizards.example.com"})
	_, none := gates.Pause(ctx, nil)
	_, all := gates.HeldWrites(ctx, control.AllControllers, 1)
	_, rate := gates.Fail(ctx, []string{"job"}, control.Fault{Rate: 2, Code: "500"})
	_, delay := gates.Delay(ctx, []string{"job"}, -time.Second)
	_, off := gates.Start(ctx, []string{"kube-scheduler"})
	for want, err := range map[string]error{
		`unknown controller "deploymnt": did you mean "deployment"?`:                  unknown,
		"controller job-controller: it is not paused: pause it first":                 step,
		`resource "pod": unknown: did you mean "pods"?`:                               resource,
		`resource "wizards.example.com": unknown: "kubectl api-resources" lists them`: kind,
		`no controller is named: "ctrlplane controllers" lists them`:                  none,
		`unknown controller "*": "ctrlplane controllers" lists them`:                  all,
		"rate 2: choose between 0 and 1":                                              rate,
		"delay -1s: choose a longer one, or clear the delay":                          delay,
		"controller kube-scheduler cannot be started: turned off by --no-scheduler":   off,
	} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if c := controllerState(t, "job-controller"); c.State != "running" {
		t.Errorf("the one that was named well: %+v", c)
	}
}

// Each step shows what it has changed: how an object comes, changes and goes.
func TestInterventionStepsShowChanges(t *testing.T) {
	ns, gates := beginIntervention(t)
	ctx := t.Context()
	awaitNamespacesDeleted(t)
	mustSucceed(t)(gates.Pause(ctx, []string{"replicaset"}))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	seen := map[string]string{}
	until := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, waitTimeout)
		defer cancel()
		err := stepping.UntilSettled(ctx, gates, controlPlane.server.Observer(), "replicaset", func(s *control.SteppedWrite) error {
			diff, err := objectdiff.Unified(s)
			if err != nil || s.Error != "" || s.UnknownReason != "" {
				t.Errorf("%s %s: %s %s, %v", s.Verb, s.Object, s.Error, s.UnknownReason, err)
			}
			seen[s.Verb+" "+s.Object.Resource+" "+s.Subresource] = diff
			return nil
		})
		if busy, ok := errors.AsType[*settled.BusyError](err); ok {
			t.Fatalf("%v: %v", err, busy.Work)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	until()
	if got := countPods(t, ns); got != 3 {
		t.Errorf("%d Pods", got)
	}
	updateObject(t, deployments(ns), "web", func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) })
	until()
	if got := countPods(t, ns); got != 1 {
		t.Errorf("%d Pods", got)
	}
	for write, says := range map[string][]string{
		"create pods ":              {"--- /dev/null\n+++ Pod " + ns + "/web-", "+  generateName: web-", "+  phase: Pending"},
		"update replicasets status": {"--- ReplicaSet " + ns + "/web-", "-  replicas: ", "+  replicas: 1\n"},
		"delete pods ":              {"--- Pod " + ns + "/web-", "+++ /dev/null\n", "-  phase: Pending"},
	} {
		for _, words := range says {
			if !strings.Contains(seen[write], words) {
				t.Errorf("%s: no %q in\n%s", write, words, seen[write])
			}
		}
	}
	mustSucceed(t)(gates.Resume(ctx, []string{"replicaset"}))
}

// Two people have a hand on one controller: whoever pauses it second changes
// nothing, and whoever resumes it first does so for both.
func TestInterventionByTwoClients(t *testing.T) {
	ns, one := beginIntervention(t)
	ctx := t.Context()
	two := controlPlane.server.Interventions()
	mustSucceed(t)(one.Pause(ctx, []string{"replicaset"}))
	mustSucceed(t)(two.Pause(ctx, []string{"replicaset-controller"}))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	stepped := make(chan string)
	for _, gates := range []control.Interventions{one, two} {
		go func() {
			s, err := gates.Step(ctx, "replicaset")
			if err != nil || s == nil {
				t.Errorf("%+v, %v", s, err)
				s = &control.SteppedWrite{}
			}
			stepped <- s.Object.String()
		}()
	}
	if first, second := <-stepped, <-stepped; first == second {
		t.Errorf("both have let the same write through: %s", first)
	}
	mustSucceed(t)(two.Resume(ctx, []string{"replicaset"}))
	if _, err := one.Step(ctx, "replicaset"); err == nil || !strings.HasSuffix(err.Error(), "controller replicaset-controller: it is not paused: pause it first") {
		t.Errorf("a step after the other's resume: %v", err)
	}
	mustSucceed(t)(one.Resume(ctx, []string{"replicaset"}))
	awaitPods(t, ns, "app=web", 3)
}

// What is scaled has so many workers, and keeps the hand that is on it.
func TestInterventionScale(t *testing.T) {
	ns, gates := beginIntervention(t)
	ctx := t.Context()
	mustSucceed(t)(gates.Delay(ctx, []string{"deployment"}, time.Hour))
	if names := mustSucceed(t)(gates.Scale(ctx, []string{"deployment", "garbagecollector"}, 3)); len(names) != 2 {
		t.Errorf("scaled: %v", names)
	}
	createDeployments(t, ns, numberedDeployments(0, 8))
	c := await(t, "work that waits", func(context.Context) (control.Controller, error) {
		return controllerState(t, "deployment-controller"), nil
	},
		func(c control.Controller) bool { return c.InFlight == 3 && c.Depth >= 5 }) // keys of a test before may come, too
	if c.Workers["deployment"] != 3 || c.Reason != "each call waits 1h0m0s, 3 workers in place of 5" {
		t.Errorf("%+v", c)
	}
	if c := controllerState(t, "garbage-collector-controller"); c.Workers["garbage_collector_attempt_to_delete"] != 3 {
		t.Errorf("%+v", c)
	}
	mustSucceed(t)(gates.Clear(ctx, []string{"deployment"}))
	await(t, "Pods", listPods(ns), func(l []corev1.Pod) bool { return len(l) == 40 })
	mustSucceed(t)(gates.Scale(ctx, []string{"garbagecollector"}, 20))
	deleteObject(t, deployments(ns), "web-3")
	awaitPods(t, ns, "app=web-3", 0)
	mustSucceed(t)(gates.Scale(ctx, []string{"deployment"}, 5))
	mustSucceed(t)(gates.Stop(ctx, []string{"job"}))
	if _, err := gates.Scale(ctx, []string{"deployment", "job"}, 2); err == nil || !strings.HasSuffix(err.Error(), "controller job-controller: it is off: start it first") {
		t.Errorf("of one that is stopped: %v", err)
	}
	mustSucceed(t)(gates.Start(ctx, []string{"job"}))
	if c := controllerState(t, "deployment-controller"); c.Workers["deployment"] != 5 || c.Reason != "" {
		t.Errorf("all or nothing: %+v", c)
	}
}

// holdThousandWrites has the replicaset controller hold a thousand writes, one a worker:
// what becomes of Pods that somebody else removes.
func holdThousandWrites(t *testing.T, ns string, gates control.Interventions) {
	t.Helper()
	ctx := t.Context()
	mustSucceed(t)(gates.Scale(ctx, []string{"replicaset"}, 1000))
	mustSucceed(t)(gates.Pause(ctx, []string{"replicaset"}))
	if err := pods(ns).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "thousand held writes", func(ctx context.Context) (int, error) {
		held, err := gates.HeldWrites(ctx, "replicaset", 1)
		return held.Total, err
	}, func(n int) bool { return n == 1000 })
	if c := controllerState(t, "replicaset-controller"); c.Held != 1000 || c.Workers["replicaset"] != 1000 || c.InFlight != 1000 ||
		c.Reason != "its writes are held, 1000 workers in place of 5" {
		t.Errorf("%+v", c)
	}
}

func singleReplicaSets(n int) (all []*appsv1.ReplicaSet) {
	for i := range n {
		labels := map[string]string{"app": fmt.Sprint("single-", i)}
		all = append(all, &appsv1.ReplicaSet{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("single-", i)},
			Spec:       appsv1.ReplicaSetSpec{Selector: labelSelector(labels), Template: newDeployment("registry.invalid/app:1").Spec.Template},
		})
		all[i].Spec.Template.Labels = labels
	}
	return all
}

// All that is held goes with one call, also a thousand writes, and all is as it
// would have been. Then as much is held again, and left so: TestMain's Close has to
// succeed all the same. It is the last test in this file.
func TestInterventionHoldsThousandWrites(t *testing.T) {
	ns, gates := beginIntervention(t)
	ctx := t.Context()
	for _, rs := range singleReplicaSets(1000) {
		createObject(t, controlPlane.client.AppsV1().ReplicaSets(ns), rs)
	}
	await(t, "Pods", listPods(ns), func(l []corev1.Pod) bool { return len(l) == 1000 })
	holdThousandWrites(t, ns, gates)
	first := listObjects(t, pods(ns), "").Items
	if len(first) != 0 {
		t.Errorf("%d Pods while the controller is paused", len(first))
	}
	mustSucceed(t)(gates.Resume(ctx, []string{control.AllControllers}))
	await(t, "all Pods again", listPods(ns), func(l []corev1.Pod) bool { return len(l) == 1000 })
	mustSucceed(t)(gates.Scale(ctx, []string{"replicaset"}, 5))
	if c := controllerState(t, "replicaset-controller"); c.State != "running" || c.Reason != "" || c.Held != 0 {
		t.Errorf("%+v", c)
	}
	holdThousandWrites(t, ns, gates)
	mustSucceed(t)(gates.Pause(ctx, []string{control.AllControllers}))
	mustSucceed(t)(gates.Delay(ctx, []string{"deployment"}, time.Hour))
}
