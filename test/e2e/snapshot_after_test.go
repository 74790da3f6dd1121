package e2e_test

import (
	"context"
	"runtime"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/informersync"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// A hand on a controller stays on it.
func TestSnapshotKeepsHands(t *testing.T) {
	ns := snapshotNamespace(t)
	gates := looker(t).Gates()
	do(t)(gates.Pause(t.Context(), "replicaset"))
	do(t)(gates.Stop(t.Context(), "cronjob"))
	restored(t, save(t))
	create(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	await(t, "ReplicaSet", all(plane.client.AppsV1().ReplicaSets(ns), ""), func(l *appsv1.ReplicaSetList) bool { return len(l.Items) == 1 })
	if c := stateOf(t, "replicaset-controller"); c.State != "paused" {
		t.Errorf("%+v", c)
	}
	if c := stateOf(t, "cronjob-controller"); c.State != "off" {
		t.Errorf("%+v", c)
	}
	if n := countPods(t, ns); n != 0 {
		t.Errorf("%d Pods by a paused controller", n)
	}
	do(t)(gates.Resume(t.Context(), "replicaset"))
	do(t)(gates.Start(t.Context(), "cronjob"))
	awaitRunning(t, ns, "app=web", 3)
}

func TestSnapshotReset(t *testing.T) {
	ns := snapshotNamespace(t)
	create(t, deployments(ns), newDeployment("registry.invalid/app:1"))
	done, err := looker(t).Snapshots().Reset(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", done)
	if _, err := plane.client.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("namespace %s: %v", ns, err)
	}
	if l := list(t, plane.client.CoreV1().Nodes(), ""); len(l.Items) != 3 {
		t.Errorf("%d nodes, want those of the start", len(l.Items))
	}
	another := snapshotNamespace(t)
	create(t, deployments(another), newDeployment("registry.invalid/app:1"))
	awaitRunning(t, another, "app=web", 3)
}

// Nothing is left behind of what was ended.
func TestSnapshotLeavesNothing(t *testing.T) {
	snapshotNamespace(t)
	with := establishFor(t, widgetCRD(unique("comes")))
	create(t, custom{plane.dynamic.Resource(with).Namespace("default")}, newWidget(with, "w", 1))
	there := save(t)
	crds := plane.extensions.ApiextensionsV1().CustomResourceDefinitions()
	remove(t, crds, with.GroupResource().String())
	awaitGone(t, with.GroupResource().String(), one(crds, with.GroupResource().String()))
	gone := save(t)
	round := func() {
		for _, file := range [][]byte{there, gone} {
			if _, err := plane.server.Restore(t.Context(), file); err != nil {
				t.Fatal(err)
			}
		}
	}
	round()
	settle(t)
	before := steadyGoroutines(t)
	const rounds = 5
	for range rounds {
		round()
	}
	await(t, "end of goroutines", func(context.Context) (int, error) { return runtime.NumGoroutine() - before, nil },
		func(more int) bool { return more < rounds })
}

// steadyGoroutines returns how many there are when controllers have come and gone:
// some begin their workers after what is settled knows of them.
func steadyGoroutines(t *testing.T) (count int) {
	t.Helper()
	var since time.Time
	await(t, "as many goroutines as before", func(context.Context) (int, error) { return runtime.NumGoroutine(), nil }, func(n int) bool {
		if n < count-2 || n > count+2 { // requests come and go
			count, since = n, time.Now()
		}
		return time.Since(since) > 3*time.Second
	})
	return count
}

// Where the API server keeps its objects is where informers are waited for.
func TestSnapshotFolders(t *testing.T) {
	newWorld(t)
	there := map[string]bool{}
	for _, e := range now(t).Entries {
		there[snapshot.Folder(e.Key)] = true
	}
	_, lists, err := plane.client.Discovery().ServerGroupsAndResources()
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
			objects, err := plane.dynamic.Resource(of).List(t.Context(), metav1.ListOptions{Limit: 1})
			if err != nil || len(objects.Items) == 0 {
				continue
			}
			if looked++; !there[informersync.Folder(of.GroupResource())] {
				t.Errorf("%s: nothing in folder %s", of, informersync.Folder(of.GroupResource()))
			}
		}
	}
	if looked < 25 {
		t.Errorf("%d resources looked at", looked)
	}
}
