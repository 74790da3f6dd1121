package nodes

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
)

// TestChangesAwaitPendingWrites has a change of a Pod that a write is about to replace.
func TestChangesAwaitPendingWrites(t *testing.T) {
	pod := testPod(nil)
	pod.ResourceVersion = "1"
	registry := newTestRegistry(t, testNode(nil))
	changes := workqueue.NewTyped[podChange]()
	defer changes.ShutDown()
	s := &simulation{changes: changes, pods: &podFeed{registry: registry}}
	change := podChange{namespace: pod.Namespace, name: pod.Name, uid: pod.UID}

	if s.awaitsWrite(change) {
		t.Error("a Pod that is not known")
	}
	registry.updatePod(pod, false, nil)
	if !s.awaitsWrite(change) {
		t.Error("a write is due")
	}
	if _, _, err := registry.duePod(pod.UID); err != nil || !s.awaitsWrite(change) {
		t.Errorf("a write is on its way: %v", err)
	}
	again, _ := changes.Get() // after the timeout
	if again.awaited != "1" || s.awaitsWrite(again) {
		t.Errorf("a write that has changed nothing: %+v", again)
	}
	pod.Status, _ = podStatus(pod, testPlacement, epoch)
	pod.ResourceVersion = "2"
	registry.updatePod(pod, false, nil)
	if !s.awaitsWrite(again) {
		t.Error("the write has come")
	}
	if s.awaitsWrite(change) {
		t.Error("a later change")
	}
}
