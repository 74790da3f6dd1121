package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// A paused controller creates no Pods while its queue grows; three steps create three
// Pods; after it resumes, all 200 × 5 Pods exist.
func TestInterventionPauseStepResume(t *testing.T) {
	ns, interventions := beginIntervention(t)
	ctx := t.Context()
	all := numberedDeployments(0, 200)
	createDeployments(t, ns, all[:100])
	await(t, "first Pods", listPods(ns), func(l []corev1.Pod) bool { return len(l) >= 20 })
	if names := mustSucceed(t)(interventions.Pause(ctx, []string{"replicaset", "replicaset-controller"})); !slices.Equal(names, []string{"replicaset-controller"}) {
		t.Errorf("paused: %v", names)
	}
	paused := countPods(t, ns)
	createDeployments(t, ns, all[100:])
	await(t, "growing queue", queueDepth("replicaset"), func(n int64) bool { return n >= 95 })
	createsPod := func(h control.HeldWrite) bool {
		return h.Verb == "create" && h.Object.Kind == "Pod" && h.Object.Namespace == ns && strings.HasPrefix(h.Object.Name, "web-") && len(h.Body) > 0
	}
	await(t, "held creation of a Pod", func(ctx context.Context) (control.HeldWriteList, error) {
		held, err := interventions.HeldWrites(ctx, "replicaset", 50)
		if err == nil && held.Total > 0 && !slices.ContainsFunc(held.Items, createsPod) { // all workers may be in updates of the status
			_, err = interventions.Step(ctx, "replicaset")
		}
		return held, err
	}, func(held control.HeldWriteList) bool { return slices.ContainsFunc(held.Items, createsPod) })
	snapshot, err := controlPlane.server.Observer().Snapshot(ctx)
	if at := slices.IndexFunc(snapshot.Controllers, func(c observe.Controller) bool { return c.Name == "replicaset-controller" }); err != nil || at < 0 || snapshot.Controllers[at].Held == 0 {
		t.Errorf("the snapshot counts no held writes: %v", err)
	}
	if got := countPods(t, ns); got != paused {
		t.Errorf("%d Pods, want %d as when the controller was paused", got, paused)
	}
	if c := controllerState(t, "replicaset-controller"); c.State != "paused" || c.Reason != "its writes are held" {
		t.Errorf("state: %+v", c)
	}

	for made := 0; made < 3; { // Events are writes, too
		s, err := interventions.Step(ctx, "replicaset")
		if err != nil || s == nil || s.Status >= 400 {
			t.Fatalf("step: %+v, %v", s, err)
		}
		if s.Verb == "create" && s.Object.Resource == "pods" {
			made++
			pod := getObject(t, pods(ns), s.Object.Name) // exists when Step returns
			if len(s.Before) != 0 || !strings.Contains(string(s.After), string(pod.UID)) || strings.Contains(string(s.After), "managedFields") {
				t.Errorf("before: %s, after: %s", s.Before, s.After)
			}
		}
		if got := countPods(t, ns); got != paused+made {
			t.Fatalf("%d Pods after %d steps that create one, %d when the controller was paused", got, made, paused)
		}
	}

	mustSucceed(t)(interventions.Resume(ctx, []string{"replicaset"}))
	awaitThousand(t, "Pods", podCount(ns))
	if c := controllerState(t, "replicaset-controller"); c.State != "running" || c.Reason != "" {
		t.Errorf("state: %+v", c)
	}
}

// Each step shows the change: how an object is created, updated and deleted.
func TestInterventionStepsShowChanges(t *testing.T) {
	ns, interventions := beginIntervention(t)
	ctx := t.Context()
	awaitNamespacesDeleted(t)
	mustSucceed(t)(interventions.Pause(ctx, []string{"replicaset"}))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	seen := map[string]string{}
	until := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(ctx, waitTimeout)
		defer cancel()
		err := stepping.UntilSettled(ctx, interventions, controlPlane.server.Observer(), "replicaset", func(s *control.SteppedWrite) error {
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
	mustSucceed(t)(interventions.Resume(ctx, []string{"replicaset"}))
}

// awaitThousand waits until there are a thousand. How long that takes depends on the machine: it
// fails when the number has not changed for waitTimeout.
func awaitThousand(t *testing.T, what string, count func(context.Context) (int, error)) {
	t.Helper()
	for last := 0; last != 1000; {
		last = await(t, fmt.Sprintf("more than %d %s", last, what), count, func(n int) bool { return n != last })
	}
}

// podCount returns a function that counts the Pods of a namespace that are not being deleted.
func podCount(ns string) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		list, err := listPods(ns)(ctx)
		return len(slices.DeleteFunc(list, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })), err
	}
}

// holdThousandWrites makes the replicaset controller hold a thousand writes, one for
// each worker, by deleting its Pods.
func holdThousandWrites(t *testing.T, ns string, interventions control.Interventions) {
	t.Helper()
	ctx := t.Context()
	mustSucceed(t)(interventions.Scale(ctx, []string{"replicaset"}, 1000))
	mustSucceed(t)(interventions.Pause(ctx, []string{"replicaset"}))
	if err := pods(ns).DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitThousand(t, "held writes", func(ctx context.Context) (int, error) {
		held, err := interventions.HeldWrites(ctx, "replicaset", 1)
		return held.Total, err
	})
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

// Resume releases a thousand held writes at once. Then a thousand are held again and
// left so: the Close of TestMain must succeed all the same. It must be the last
// test of the process, and is, by its place in this file and the file's name: all controllers stay paused.
func TestInterventionHoldsThousandWrites(t *testing.T) {
	ns, interventions := beginIntervention(t)
	ctx := t.Context()
	for _, rs := range singleReplicaSets(1000) {
		createObject(t, controlPlane.client.AppsV1().ReplicaSets(ns), rs)
	}
	awaitThousand(t, "Pods", podCount(ns))
	holdThousandWrites(t, ns, interventions)
	first := listObjects(t, pods(ns), "").Items
	if len(first) != 0 {
		t.Errorf("%d Pods, want none while the controller is paused", len(first))
	}
	mustSucceed(t)(interventions.Resume(ctx, []string{control.All}))
	awaitThousand(t, "Pods again", podCount(ns))
	mustSucceed(t)(interventions.Scale(ctx, []string{"replicaset"}, 5))
	if c := controllerState(t, "replicaset-controller"); c.State != "running" || c.Reason != "" || c.Held != 0 {
		t.Errorf("%+v", c)
	}
	holdThousandWrites(t, ns, interventions)
	mustSucceed(t)(interventions.Pause(ctx, []string{control.All}))
	mustSucceed(t)(interventions.Delay(ctx, []string{"deployment"}, time.Hour))
}
