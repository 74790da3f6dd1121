package e2e_test

import (
	"context"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
)

// Interventions stay in effect after a restore.
func TestSnapshotKeepsInterventions(t *testing.T) {
	ns := createSnapshotNamespace(t)
	interventions := newRemoteClient(t).Interventions()
	mustSucceed(t)(interventions.Pause(t.Context(), []string{"replicaset"}))
	mustSucceed(t)(interventions.Stop(t.Context(), []string{"cronjob"}))
	restoreSnapshot(t, saveSnapshot(t))
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	await(t, "ReplicaSet", listBySelector(controlPlane.client.AppsV1().ReplicaSets(ns), ""), func(l *appsv1.ReplicaSetList) bool { return len(l.Items) == 1 })
	if c := controllerState(t, "replicaset-controller"); c.State != "paused" {
		t.Errorf("%+v", c)
	}
	if c := controllerState(t, "cronjob-controller"); c.State != "off" {
		t.Errorf("%+v", c)
	}
	if n := countPods(t, ns); n != 0 {
		t.Errorf("%d Pods, want none from a paused controller", n)
	}
	mustSucceed(t)(interventions.Resume(t.Context(), []string{"replicaset"}))
	mustSucceed(t)(interventions.Start(t.Context(), []string{"cronjob"}))
	awaitRunning(t, ns, "app=web", 3)
}

func TestSnapshotReset(t *testing.T) {
	ns := createSnapshotNamespace(t)
	createObject(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	done, err := newRemoteClient(t).Snapshots().Reset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", done)
	if _, err := controlPlane.client.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s: %v", ns, err)
	}
	if l := listObjects(t, controlPlane.client.CoreV1().Nodes(), ""); len(l.Items) != 3 {
		t.Errorf("%d nodes, want the three of the start", len(l.Items))
	}
	another := createSnapshotNamespace(t)
	createObject(t, deployments(another), newDeployment("registry.invalid/app:1"))
	awaitRunning(t, another, "app=web", 3)
}

// Restarted controllers and informers leave no goroutines behind.
func TestSnapshotLeaksNoGoroutines(t *testing.T) {
	createSnapshotNamespace(t)
	with := createCRD(t, widgetCRD(uniqueName("created")))
	createObject(t, customClient{controlPlane.dynamic.Resource(with).Namespace("default")}, newWidget(with, "w", 1))
	there := saveSnapshot(t)
	crds := controlPlane.extensions.ApiextensionsV1().CustomResourceDefinitions()
	deleteObject(t, crds, with.GroupResource().String())
	awaitGone(t, with.GroupResource().String(), getByName(crds, with.GroupResource().String()))
	gone := saveSnapshot(t)
	round := func() {
		for _, file := range [][]byte{there, gone} {
			if _, err := controlPlane.server.RestoreSnapshot(t.Context(), file); err != nil {
				t.Fatal(err)
			}
		}
	}
	round()
	awaitSteadyState(t)
	before := awaitSteadyGoroutines(t)
	const rounds = 5
	for range rounds {
		round()
	}
	await(t, "end of goroutines", func(context.Context) ([]string, error) {
		return goroutinesNow(t).withoutLabels().growthSince(before, rounds, isIdleCaller), nil
	}, func(grown []string) bool { return len(grown) == 0 })
}

// awaitSteadyGoroutines returns the goroutines once their number is steady: some
// controllers start workers after the control plane has settled.
func awaitSteadyGoroutines(t *testing.T) goroutines {
	t.Helper()
	var before, fewest goroutines
	since := time.Now()
	await(t, "as many goroutines as before", func(context.Context) (goroutines, error) { return goroutinesNow(t).withoutLabels(), nil }, func(g goroutines) bool {
		if fewest == nil || g.total() < fewest.total() { // there are more while requests are in flight
			fewest = g
		}
		if time.Since(since) < 2*time.Second {
			return false
		}
		growth := fewest.total() - before.total()
		before, fewest, since = fewest, nil, time.Now()
		return growth >= -2 && growth <= 2
	})
	return before
}

// The folder of each resource in the store is the one for which informers are awaited.
func TestSnapshotStoreFolders(t *testing.T) {
	createSampleObjects(t)
	there := map[string]bool{}
	for _, e := range currentState(t).Entries {
		there[storekeys.ResourcePrefix(e.Key)] = true
	}
	_, lists, err := controlPlane.client.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, l := range lists {
		gv, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range l.APIResources {
			of := gv.WithResource(r.Name)
			if !slices.Contains(r.Verbs, "list") || gv.Group == "metrics.k8s.io" || gv.Group == "coordination.k8s.io" || r.Name == "componentstatuses" {
				continue
			}
			objects, err := controlPlane.dynamic.Resource(of).List(t.Context(), metav1.ListOptions{Limit: 1})
			if err != nil || len(objects.Items) == 0 {
				continue
			}
			if looked++; !there[storekeys.PrefixOf(of.Group, of.Resource)] {
				t.Errorf("%s: nothing in folder %s", of, storekeys.PrefixOf(of.Group, of.Resource))
			}
		}
	}
	if looked < 25 {
		t.Errorf("only %d resources were checked", looked)
	}
}
