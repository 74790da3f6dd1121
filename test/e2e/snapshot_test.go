package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// snapshotEnv marks the process whose state is restored: other tests need theirs.
const snapshotEnv = "CTRLPLANE_E2E_SNAPSHOT"

// TestSnapshots runs the tests below in a child process, one after the other.
func TestSnapshots(t *testing.T) {
	t.Logf("%s", runInChild(t, "TestSnapshot", 13, snapshotEnv, workloadsEnv))
}

// A restore is exact although it stops busy controllers and clients keep writing: the
// saved state exists afterwards and stays.
func TestSnapshotUnderLoad(t *testing.T) {
	w := createSampleObjects(t)
	saved := w.saveWhenSteady(t)
	stop := w.startLoad(t)
	w.changeEverything(t)
	restoreSnapshot(t, saved) // under load
	stop()
	restoreSnapshot(t, saved)
	requireSameState(t, saved, "at once")
	w.saveWhenSteady(t)
	requireSameState(t, saved, "once settled")

	// The restored objects work: a deleted Pod is replaced, a Service gets a free
	// address, deleting an owner deletes its dependents.
	first := listObjects(t, pods(w.ns), "app=web").Items[0]
	deleteObject(t, pods(w.ns), first.Name)
	awaitRunning(t, w.ns, "app=web", 3)
	service := newService("another")
	service.Spec.Type = corev1.ServiceTypeNodePort
	createObject(t, controlPlane.client.CoreV1().Services(w.ns), service)
	deleteObject(t, deployments(w.ns), "web")
	await(t, "collection", listBySelector(pods(w.ns), "app=web"), func(l *corev1.PodList) bool { return len(l.Items) == 0 })

	// So does a kind that did not exist before the restore.
	widgets := customClient{controlPlane.dynamic.Resource(w.gvr).Namespace(w.ns)}
	owner := getObject(t, widgets, "w-0")
	owned := newWidget(w.gvr, "owned", 1)
	owned.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}})
	createObject(t, widgets, owned)
	deleteObject(t, widgets, "w-0")
	awaitGone(t, "owned widget", getByName(widgets, "owned"))
}

// An open watch sees the changes of a restore like other writes: revisions increase,
// an object that was replaced is deleted before it is added, and an owner changes before what it owns.
func TestSnapshotRestoreReachesWatches(t *testing.T) {
	ns := createSnapshotNamespace(t)
	c := controlPlane.client.CoreV1().ConfigMaps(ns)
	named := func(name, value string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}
	}
	changed, replaced, gone := createObject(t, c, named("changed", "1")), createObject(t, c, named("replaced", "1")), createObject(t, c, named("gone", "1"))
	var owned [2]*corev1.ConfigMap // whose writes without an order would begin before and after that of the owner
	for i, name := range []string{"belongs", "dependent"} {
		owned[i] = named(name, "1")
		owned[i].OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: changed.Name, UID: changed.UID}}
		owned[i] = createObject(t, c, owned[i])
	}
	saved := saveSnapshot(t)
	updateObject(t, c, "changed", func(m *corev1.ConfigMap) { m.Data["v"] = "2" })
	for _, m := range owned {
		updateObject(t, c, m.Name, func(m *corev1.ConfigMap) { m.Data["v"] = "2" })
	}
	deleteObject(t, c, "replaced")
	other := createObject(t, c, named("replaced", "1"))
	deleteObject(t, c, "gone")
	extra := createObject(t, c, named("new", "1"))

	w, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: extra.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	restoreSnapshot(t, saved)
	seen := map[string][]string{}
	last, err := strconv.ParseInt(extra.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	var order []string
	for range 7 {
		e := nextEvent(t, w)
		m := e.Object.(*corev1.ConfigMap)
		order = append(order, m.Name)
		revision, err := strconv.ParseInt(m.ResourceVersion, 10, 64)
		if err != nil || revision < last {
			t.Errorf("revision %s after %d", m.ResourceVersion, last)
		}
		last = revision
		seen[m.Name] = append(seen[m.Name], fmt.Sprint(e.Type, " ", m.UID, " ", m.Data["v"]))
	}
	for name, want := range map[string][]string{
		"belongs":   {fmt.Sprint("MODIFIED ", owned[0].UID, " 1")},
		"dependent": {fmt.Sprint("MODIFIED ", owned[1].UID, " 1")},
		"changed":   {fmt.Sprint("MODIFIED ", changed.UID, " 1")},
		"replaced":  {fmt.Sprint("DELETED ", other.UID, " 1"), fmt.Sprint("ADDED ", replaced.UID, " 1")},
		"gone":      {fmt.Sprint("ADDED ", gone.UID, " 1")},
		"new":       {fmt.Sprint("DELETED ", extra.UID, " 1")},
	} {
		if !slices.Equal(seen[name], want) {
			t.Errorf("%s: seen %q, want %q", name, seen[name], want)
		}
	}
	for _, m := range owned {
		if slices.Index(order, m.Name) < slices.Index(order, changed.Name) {
			t.Errorf("seen %q", order)
		}
	}
	if now := getObject(t, c, "replaced"); now.UID != replaced.UID {
		t.Errorf("UID %s, want %s", now.UID, replaced.UID)
	}
}

// The garbage collector does not take a restored owner for absent.
func TestSnapshotRestoresOwner(t *testing.T) {
	ns := createSnapshotNamespace(t)
	c := controlPlane.client.CoreV1().ConfigMaps(ns)
	owner := createObject(t, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}})
	for i := range 20 {
		createObject(t, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("owned-%d", i), OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
		}}})
	}
	saved := saveSnapshot(t)
	for range 2 {
		deleteObject(t, c, owner.Name)
		await(t, "some of the collection", listBySelector(c, ""), func(l *corev1.ConfigMapList) bool { return len(l.Items) < 18 })
		restoreSnapshot(t, saved)
		awaitSteadyState(t)
		if l := listObjects(t, c, ""); len(l.Items) != 22 { // with kube-root-ca.crt
			t.Fatalf("%d ConfigMaps: %s", len(l.Items), toYAML(l))
		}
	}
	deleteObject(t, c, owner.Name)
	await(t, "collection", listBySelector(c, ""), func(l *corev1.ConfigMapList) bool { return len(l.Items) == 1 })
}

// A write during a restore is executed before it or after it, unless it is based on
// the state before: then it fails with a conflict.
func TestSnapshotConcurrentWrites(t *testing.T) {
	ns := createSnapshotNamespace(t)
	c := controlPlane.client.CoreV1().ConfigMaps(ns)
	createObject(t, c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counter"}})
	saved := saveSnapshot(t)
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	var mu sync.Mutex
	type outcomes struct{ Restores, Conflicts, Carried int }
	var counts outcomes
	for i := range 8 {
		writers.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				// A canceled patch could still be carried out, after the last restore.
				_, err := c.Patch(t.Context(), "counter", types.MergePatchType, fmt.Appendf(nil, `{"data":{"w%d":"%d"}}`, i, n), metav1.PatchOptions{})
				mu.Lock()
				switch {
				case err == nil:
					counts.Carried++
				case apierrors.IsConflict(err):
					counts.Conflicts++
				case t.Context().Err() == nil:
					t.Errorf("patch: %v", err)
				}
				mu.Unlock()
			}
		})
	}
	await(t, "writes that are carried out and writes with conflicts", func(context.Context) (outcomes, error) {
		restoreSnapshot(t, saved)
		mu.Lock()
		defer mu.Unlock()
		counts.Restores++
		return counts, nil
	}, func(o outcomes) bool { return o.Restores >= 3 && o.Conflicts > 0 && o.Carried > 0 })
	cancel()
	writers.Wait()
	restoreSnapshot(t, saved)
	if m := getObject(t, c, "counter"); len(m.Data) != 0 {
		t.Errorf("written during the restore: %v", m.Data)
	}
}
