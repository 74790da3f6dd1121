package e2e_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/control"
	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/observe"
)

// interventionsEnv marks the process for tests that pause, stop and fail controllers,
// which other tests need.
const interventionsEnv = "CTRLPLANE_E2E_INTERVENTIONS"

// TestInterventions runs the tests below in a child process, one after the other.
func TestInterventions(t *testing.T) {
	runInChild(t, "TestIntervention", 12, interventionsEnv)
}

// beginIntervention starts each of them.
func beginIntervention(t *testing.T) (ns string, interventions control.Interventions) {
	t.Helper()
	if os.Getenv(interventionsEnv) == "" {
		t.Skip("run by TestInterventions in a process of its own")
	}
	interventions = newRemoteClient(t).Interventions()
	t.Cleanup(func() {
		if t.Failed() { // its faults would fail the other tests, too
			mustSucceed(t)(interventions.Clear(context.Background(), []string{control.All}))
		}
	})
	return createNamespace(t), interventions
}

// awaitNamespacesDeleted waits until the namespaces of earlier tests are deleted, which may have
// a thousand Pods.
func awaitNamespacesDeleted(t *testing.T) {
	t.Helper()
	awaitWithin(t, 4*waitTimeout, "deletion of the namespaces of earlier tests", listBySelector(controlPlane.client.CoreV1().Namespaces(), ""), func(l *corev1.NamespaceList) bool {
		return !slices.ContainsFunc(l.Items, func(n corev1.Namespace) bool { return n.DeletionTimestamp != nil })
	})
}

// mustSucceed returns a function that fails the test if an intervention fails.
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

func listPods(ns string) func(context.Context) ([]corev1.Pod, error) {
	return func(ctx context.Context) ([]corev1.Pod, error) {
		l, err := pods(ns).List(ctx, metav1.ListOptions{})
		return l.Items, err
	}
}

// interventionRoundsEnv is how often every controller is stopped and started; default 20.
const interventionRoundsEnv = "CTRLPLANE_E2E_INTERVENTION_ROUNDS"

// Stopped controllers do nothing. After a start they catch up, and nothing of their
// earlier run is left: no goroutine, no event handler, no queue.
func TestInterventionStopAndStart(t *testing.T) {
	ns, interventions := beginIntervention(t)
	awaitNamespacesDeleted(t)
	ctx := t.Context()
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv(interventionRoundsEnv)); err == nil {
		rounds = n
	}
	round := func() {
		t.Helper()
		stopped := mustSucceed(t)(interventions.Stop(ctx, []string{control.All}))
		if len(stopped) < 45 || !slices.Contains(stopped, "replicaset-controller") {
			t.Errorf("stopped: %v", stopped)
		}
		if again := mustSucceed(t)(interventions.Stop(ctx, []string{control.All})); len(again) != 0 { // a second time changes nothing
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
		if started := mustSucceed(t)(interventions.Start(ctx, []string{control.All})); !slices.Equal(started, stopped) {
			t.Errorf("started: %v", started)
		}
		mustSucceed(t)(interventions.Start(ctx, []string{"deployment", "replicaset"}))
		awaitPods(t, ns, "app=web", 3)
		if d := getObject(t, deployments(ns), "web"); d.UID != created.UID {
			t.Errorf("the Deployment was replaced: %s", toYAML(d))
		}
		set := listObjects(t, controlPlane.client.AppsV1().ReplicaSets(ns), "").Items[0]
		deliveries := func(context.Context) (int, error) {
			return countDeliveries(t, "deployment-controller", observe.Object{Group: "apps", Resource: "replicasets", Namespace: ns, Name: set.Name, UID: string(set.UID)}, s.Journal.Last), nil
		}
		await(t, "delivery of the ReplicaSet to the deployment controller", deliveries, func(n int) bool { return n > 0 })
		deleteObject(t, deployments(ns), "web")
		await(t, "garbage collection", listPods(ns), func(l []corev1.Pod) bool { return len(l) == 0 })
		if n, _ := deliveries(ctx); n != 1 { // a second handler has received it, too, by now
			t.Errorf("%d handlers of the deployment controller received its ReplicaSet, want 1", n)
		}
	}
	round()
	awaitSteadyGoroutines(t)
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

// Stopping a paused controller discards its held writes. After it starts again, it
// makes its writes itself.
func TestInterventionStopWhilePaused(t *testing.T) {
	ns, interventions := beginIntervention(t)
	ctx := t.Context()
	mustSucceed(t)(interventions.Pause(ctx, []string{"replicaset"}))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	await(t, "held write", func(ctx context.Context) (control.HeldWriteList, error) {
		return interventions.HeldWrites(ctx, "replicaset", 10)
	},
		func(l control.HeldWriteList) bool { return l.Total > 0 })
	mustSucceed(t)(interventions.Stop(ctx, []string{"replicaset"}))
	if held, err := interventions.HeldWrites(ctx, "replicaset", 10); err != nil || held.Total != 0 || countPods(t, ns) != 0 {
		t.Errorf("%v; held: %s; %d Pods", err, toYAML(held), countPods(t, ns))
	}
	if _, err := interventions.Pause(ctx, []string{"replicaset"}); err == nil || !strings.HasSuffix(err.Error(), "controller replicaset-controller: it is off: start it first") {
		t.Errorf("pause of a stopped controller: %v", err)
	}
	mustSucceed(t)(interventions.Start(ctx, []string{"replicaset"}))
	awaitPods(t, ns, "app=web", 3)
}

func TestInterventionFailAndClear(t *testing.T) {
	for _, f := range []control.Fault{{Rate: 1, Code: "500"}, {Rate: 1, Code: "409", Verb: "create", Resource: "pods"}, {Rate: 1, Code: "timeout"}} {
		t.Run(f.Code, func(t *testing.T) {
			ns, interventions := beginIntervention(t)
			ctx := t.Context()
			mustSucceed(t)(interventions.Fail(ctx, []string{"replicaset"}, f))
			createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
			q := observe.Query{Controller: "replicaset-controller", Object: &observe.Object{Resource: "pods", Namespace: ns}}
			await(t, "failing creations", fetchRecords[*observe.Called](newRemoteClient(t), q), func(l []*observe.Called) bool {
				failed := slices.DeleteFunc(l, func(c *observe.Called) bool {
					return c.Verb != "create" || !c.Failed() || !strings.Contains(c.Error, "fault injected by ctrlplane") || c.Conflict != (f.Code == "409")
				})
				return len(failed) >= 3 // it has retried
			})
			if got := countPods(t, ns); got != 0 {
				t.Errorf("%d Pods", got)
			}
			if c := controllerState(t, "replicaset-controller"); c.State != "running" || !strings.HasSuffix(c.Reason, "fail: "+f.Code) {
				t.Errorf("state: %+v", c)
			}
			mustSucceed(t)(interventions.Clear(ctx, []string{control.All}))
			awaitPods(t, ns, "app=web", 3)
			if c := controllerState(t, "replicaset-controller"); c.Reason != "" {
				t.Errorf("state: %+v", c)
			}
		})
	}
}

func TestInterventionEnd(t *testing.T) {
	_, interventions := beginIntervention(t)
	ctx, client := t.Context(), newRemoteClient(t)
	mustSucceed(t)(interventions.Pause(ctx, []string{"deployment"}))
	mustSucceed(t)(interventions.Delay(ctx, []string{"deployment"}, time.Minute))
	mustSucceed(t)(interventions.Stop(ctx, []string{"job"}))
	mustSucceed(t)(interventions.Scale(ctx, []string{"replicaset"}, 2))
	if err := client.SpeedControl().SetSpeed(ctx, "1/2"); err != nil {
		t.Fatal(err)
	}
	if err := client.EndInterventions(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"deployment-controller", "job-controller", "replicaset-controller"} {
		if c := controllerState(t, name); c.State != observe.StateRunning || c.Reason != "" {
			t.Errorf("state: %+v", c)
		}
	}
	if s, err := client.Snapshot(ctx); err != nil || s.Process.Speed != "" && s.Process.Speed != observe.SpeedFull {
		t.Errorf("speed %q, %v", s.Process.Speed, err)
	}
}

// A request whose time is over has an answer: its connection is not broken.
func TestInterventionTimeout(t *testing.T) {
	_, interventions := beginIntervention(t)
	ctx := t.Context()
	mustSucceed(t)(interventions.Pause(ctx, []string{"job"}))
	for range 10 {
		request := controlPlane.client.RESTClient().Post().AbsPath(controlrest.ControllersPath+"/step").Param("timeout", "100ms")
		err := request.Body([]byte(`{"names":["job"]}`)).SetHeader("Content-Type", "application/json").Do(ctx).Error()
		if !apierrors.IsTimeout(err) || !strings.HasSuffix(err.Error(), "timed out after 100ms") {
			t.Errorf("got %v, want 504", err)
		}
	}
	mustSucceed(t)(interventions.Resume(ctx, []string{"job"}))
}

func TestInterventionDelay(t *testing.T) {
	ns, interventions := beginIntervention(t)
	ctx := t.Context()
	awaitNamespacesDeleted(t) // all waiting work is of this test
	mustSucceed(t)(interventions.Delay(ctx, []string{"deployment"}, time.Hour))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	await(t, "waiting work", func(ctx context.Context) (n int64, err error) {
		s, err := controlPlane.server.Observer().Snapshot(ctx)
		for _, q := range s.Queues {
			if q.Name == "deployment" {
				n += q.InFlight
			}
		}
		return n, err
	}, func(n int64) bool { return n == 1 })
	mustSucceed(t)(interventions.Clear(ctx, []string{"deployment"}))
	awaitPods(t, ns, "app=web", 3)
}

func TestInterventionErrors(t *testing.T) {
	_, interventions := beginIntervention(t)
	ctx := t.Context()
	_, unknown := interventions.Stop(ctx, []string{"job", "deploymnt"})
	_, step := interventions.Step(ctx, "job")
	_, resource := interventions.Fail(ctx, []string{"job"}, control.Fault{Rate: 1, Code: "500", Resource: "pod"})
	_, kind := interventions.Fail(ctx, []string{"job"}, control.Fault{Rate: 1, Code: "500", Resource: "wizards.example.com"})
	_, client := controlPlane.server.ClientInterventions().Fail(ctx, []string{control.All}, control.Fault{Rate: 1, Code: "500", Resource: "configmap"})
	_, none := interventions.Pause(ctx, nil)
	_, all := interventions.HeldWrites(ctx, control.All, 1)
	_, rate := interventions.Fail(ctx, []string{"job"}, control.Fault{Rate: 2, Code: "500"})
	_, delay := interventions.Delay(ctx, []string{"job"}, -time.Second)
	_, off := interventions.Start(ctx, []string{"kube-scheduler"})
	for want, err := range map[string]error{
		`unknown controller "deploymnt": did you mean "deployment"?`:                  unknown,
		"controller job-controller is not paused: pause it first":                     step,
		`resource "pod": unknown: did you mean "pods"?`:                               resource,
		`resource "wizards.example.com": unknown: "kubectl api-resources" lists them`: kind,
		`resource "configmap": unknown: did you mean "configmaps"?`:                   client,
		`pause: no names are given: name one or more, or "*" for all`:                 none,
		`unknown controller "*": "ctrlplane controllers" lists them`:                  all,
		"rate 2: choose more than 0 and at most 1; the verb clear ends faults":        rate,
		"delay -1s: choose a longer one, or clear the delay":                          delay,
		"controller kube-scheduler cannot be started: turned off by --no-scheduler":   off,
	} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if c := controllerState(t, "job-controller"); c.State != "running" {
		t.Errorf("the controller with the valid name: %+v", c)
	}
}

// Two clients intervene in one controller: a second pause changes nothing, and a
// resume by one client is for both.
func TestInterventionByTwoClients(t *testing.T) {
	ns, one := beginIntervention(t)
	ctx := t.Context()
	two := controlPlane.server.Interventions()
	mustSucceed(t)(one.Pause(ctx, []string{"replicaset"}))
	mustSucceed(t)(two.Pause(ctx, []string{"replicaset-controller"}))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	stepped := make(chan string)
	for _, interventions := range []control.Interventions{one, two} {
		go func() {
			s, err := interventions.Step(ctx, "replicaset")
			if err != nil || s == nil {
				t.Errorf("%+v, %v", s, err)
				s = &control.SteppedWrite{}
			}
			stepped <- fmt.Sprintf("%s %s, held since %d", s.Verb, s.Object, s.Since.UnixNano()) // names of Pods to create are not final
		}()
	}
	if first, second := <-stepped, <-stepped; first == second {
		t.Errorf("both steps released the same write: %s", first)
	}
	mustSucceed(t)(two.Resume(ctx, []string{"replicaset"}))
	if _, err := one.Step(ctx, "replicaset"); err == nil || !strings.HasSuffix(err.Error(), "controller replicaset-controller is not paused: pause it first") {
		t.Errorf("a step after the resume: %v", err)
	}
	mustSucceed(t)(one.Resume(ctx, []string{"replicaset"}))
	awaitPods(t, ns, "app=web", 3)
}

// A scaled controller has the new number of workers and keeps its other interventions.
func TestInterventionScale(t *testing.T) {
	ns, interventions := beginIntervention(t)
	ctx := t.Context()
	mustSucceed(t)(interventions.Delay(ctx, []string{"deployment"}, time.Hour))
	if names := mustSucceed(t)(interventions.Scale(ctx, []string{"deployment", "garbagecollector"}, 3)); len(names) != 2 {
		t.Errorf("scaled: %v", names)
	}
	createDeployments(t, ns, numberedDeployments(0, 8))
	c := await(t, "waiting work", func(context.Context) (control.Controller, error) {
		return controllerState(t, "deployment-controller"), nil
	},
		func(c control.Controller) bool { return c.InFlight == 3 && c.Depth >= 5 }) // keys of earlier tests may be added
	if c.Workers["deployment"] != 3 || c.Reason != "each call waits 1h0m0s, 3 workers in place of 5" {
		t.Errorf("%+v", c)
	}
	if c := controllerState(t, "garbage-collector-controller"); c.Workers["garbage_collector_attempt_to_delete"] != 3 {
		t.Errorf("%+v", c)
	}
	mustSucceed(t)(interventions.Clear(ctx, []string{"deployment"}))
	await(t, "Pods", listPods(ns), func(l []corev1.Pod) bool { return len(l) == 40 })
	mustSucceed(t)(interventions.Scale(ctx, []string{"garbagecollector"}, 20))
	deleteObject(t, deployments(ns), "web-3")
	awaitPods(t, ns, "app=web-3", 0)
	mustSucceed(t)(interventions.Scale(ctx, []string{"deployment"}, 5))
	mustSucceed(t)(interventions.Stop(ctx, []string{"job"}))
	if _, err := interventions.Scale(ctx, []string{"deployment", "job"}, 2); err == nil || !strings.HasSuffix(err.Error(), "controller job-controller: it is off: start it first") {
		t.Errorf("scale of a stopped controller: %v", err)
	}
	mustSucceed(t)(interventions.Start(ctx, []string{"job"}))
	if c := controllerState(t, "deployment-controller"); c.Workers["deployment"] != 5 || c.Reason != "" {
		t.Errorf("one of two scales failed, want neither applied: %+v", c)
	}
}
