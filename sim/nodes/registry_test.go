package nodes

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

func testNode(change func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node-1", UID: "n", Annotations: map[string]string{annotations.KwokNode: annotations.KwokFake}},
		Spec:       corev1.NodeSpec{PodCIDRs: []string{"10.244.1.0/24"}},
	}
	if change != nil {
		change(node)
	}
	return node
}

func newTestRegistry(t *testing.T, node *corev1.Node) *podRegistry {
	t.Helper()
	s, err := Config{}.nodeShape()
	if err != nil {
		t.Fatal(err)
	}
	l := newPodRegistry(s, func() time.Time { return epoch })
	l.updateNode(node)
	return l
}

// assignedPodIPs returns the addresses that a Pod gets.
func assignedPodIPs(l *podRegistry, uid string, change func(*corev1.Pod)) string {
	pod := testPod(func(p *corev1.Pod) {
		p.UID = types.UID(uid)
		if change != nil {
			change(p)
		}
	})
	l.updatePod(pod, false, nil)
	return fmt.Sprint(l.podIPs(pod.UID))
}

func TestAllocatePodIPs(t *testing.T) {
	l := newTestRegistry(t, testNode(nil))
	has := func(addr string) func(*corev1.Pod) {
		return func(p *corev1.Pod) { p.Status.PodIPs = []corev1.PodIP{{IP: addr}} }
	}
	got := []string{
		assignedPodIPs(l, "started before", has("10.244.1.1")),
		assignedPodIPs(l, "a", nil),
		assignedPodIPs(l, "a", nil), // updated again
		assignedPodIPs(l, "elsewhere", func(p *corev1.Pod) { p.Spec.NodeName = "kubelet" }),
		assignedPodIPs(l, "host", func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
		assignedPodIPs(l, "finished", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		assignedPodIPs(l, "b", nil),
	}
	want := []string{"[10.244.1.1]", "[10.244.1.2]", "[10.244.1.2]", "[]", "[172.16.0.1]", "[]", "[10.244.1.3]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	l.retainPods(map[types.UID]bool{"b": true})
	if used := len(l.podIPPool(podRanges(testNode(nil))[0]).used); used != 1 {
		t.Errorf("%d addresses in use, want 1", used)
	}
}

func TestHostPortConflicts(t *testing.T) {
	port := func(ip string, protocol corev1.Protocol, number int32) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostIP: ip, Protocol: protocol, HostPort: number}}
		}
	}
	l := newTestRegistry(t, testNode(nil))
	rejected := func(uid string, change func(*corev1.Pod)) bool {
		pod := testPod(change)
		pod.UID = types.UID(uid)
		if seen := l.updatePod(pod, false, testNode(nil)); seen.next.name != podStatusNow {
			t.Fatalf("due for Pod %s: %+v", uid, seen.next)
		}
		due, at, err := l.duePod(pod.UID)
		if err != nil {
			t.Fatal(err)
		}
		st, _ := podStatus(due, at, epoch)
		return st.Reason == "NodePorts"
	}
	for _, c := range []struct {
		uid    string
		change func(*corev1.Pod)
		want   bool
	}{
		{"first", port("", corev1.ProtocolTCP, 80), false},
		{"first", port("", corev1.ProtocolTCP, 80), false}, // updated again
		{"same", port("127.0.0.1", corev1.ProtocolTCP, 80), true},
		{"protocol", port("", corev1.ProtocolUDP, 80), false},
		{"ip", port("10.0.0.1", corev1.ProtocolTCP, 81), false},
		{"other ip", port("10.0.0.2", corev1.ProtocolTCP, 81), false},
		{"all ips", port("0.0.0.0", corev1.ProtocolTCP, 81), true},
	} {
		if got := rejected(c.uid, c.change); got != c.want {
			t.Errorf("pod %s rejected: %v, want %v", c.uid, got, c.want)
		}
	}
	l.deletePod("first")
	if rejected("later", port("", corev1.ProtocolTCP, 80)) {
		t.Error("the port of a deleted Pod is still in use")
	}
}

func TestFinishedPodsAreNotCounted(t *testing.T) {
	l := newTestRegistry(t, testNode(nil))
	pod := testPod(func(p *corev1.Pod) { p.Spec.NodeName = "node-1" })
	l.updatePod(pod, false, nil)
	running := l.podCount("node-1")
	pod.Status.Phase = corev1.PodSucceeded
	l.updatePod(pod, false, nil)
	if finished := l.podCount("node-1"); running != 1 || finished != 0 {
		t.Errorf("counted: %d, and %d when it has finished; want 1 and 0", running, finished)
	}
}

func TestNextNodeStage(t *testing.T) {
	l := newTestRegistry(t, testNode(nil))
	settle := func(node *corev1.Node) {
		st, _ := l.shape.nodeStatus(node, l.nodes["node-1"].addr, epoch)
		node.Status = st
	}
	node := testNode(nil)
	if was, is, what := l.updateNode(node); !was || !is || what.name != nodeStatusNow {
		t.Errorf("a new node: %v, %v, %+v", was, is, what)
	}
	settle(node)
	if _, _, what := l.updateNode(node); what != (dueStage{name: nodeStatusLater, at: epoch.Add(statusIntervalOf("node-1"))}) {
		t.Errorf("a healthy node: %+v", what)
	}
	gone := node.DeepCopy()
	gone.Annotations[annotations.Failed] = annotations.True
	if was, is, what := l.updateNode(gone); !was || is || what != (dueStage{}) {
		t.Errorf("a node that has failed: %v, %v, %+v", was, is, what)
	}
	for i := range gone.Status.Conditions {
		if c := &gone.Status.Conditions[i]; isKubeletCondition(c.Type) {
			c.Status = corev1.ConditionUnknown
		}
	}
	delete(gone.Annotations, annotations.Failed)
	if was, is, what := l.updateNode(gone); was || !is || what.name != nodeStatusNow {
		t.Errorf("a node that has recovered: %v, %v, %+v", was, is, what)
	}
	settle(gone)
	if diff := cmp.Diff(node.Status, gone.Status); diff != "" {
		t.Errorf("status after the recovery: %s", diff)
	}
	kubelet := testNode(func(n *corev1.Node) { n.Name, n.Annotations = "kubelet", nil })
	if was, is, what := l.updateNode(kubelet); was || is || what != (dueStage{}) {
		t.Errorf("a node with a real kubelet: %v, %v, %+v", was, is, what)
	}
}

// TestDeletedWhileAWriteIsDue deletes a Pod, which takes a while to stop, while a write of its
// status is due: the write does not end it.
func TestDeletedWhileAWriteIsDue(t *testing.T) {
	l := newTestRegistry(t, testNode(nil))
	now := epoch
	l.now = func() time.Time { return now }
	pod := testPod(func(p *corev1.Pod) { p.Annotations[annotations.StopAfter] = "20s" })
	l.assignPod(pod, l.updatePod(pod, false, nil).next, nil)
	deleted := deletedPod(pod)
	next := l.updatePod(deleted, false, nil).next
	if _, patch, _, err := l.podPatch(pod.UID); len(patch) > 0 || err != nil {
		t.Errorf("before its deletion is scheduled: %s, %v", patch, err)
	}
	l.assignPod(deleted, next, nil)
	if got, patch, _, err := l.podPatch(pod.UID); got != nil || err != nil {
		t.Errorf("before it has stopped: %s, %v", patch, err)
	}
	now = next.at
	if got, patch, _, err := l.podPatch(pod.UID); got == nil || len(patch) == 0 || err != nil {
		t.Errorf("when it has stopped: %v, %s, %v", got, patch, err)
	}
}

// TestDeletionGoesOnAfterRecovery has a node that fails after a Pod was to be deleted, and recovers.
func TestDeletionGoesOnAfterRecovery(t *testing.T) {
	l := newTestRegistry(t, testNode(nil))
	pod := deletedPod(testPod(nil))
	l.assignPod(pod, l.updatePod(pod, false, nil).next, nil)
	if got, _, _, err := l.podPatch(pod.UID); got == nil || err != nil {
		t.Fatalf("got %v, %v", got, err)
	}
	l.updateNode(testNode(func(n *corev1.Node) { n.Annotations[annotations.Failed] = annotations.True }))
	pod.ResourceVersion = "notReady" // as node-lifecycle-controller writes
	l.updatePod(pod, false, nil)
	l.updateNode(testNode(nil))
	if next := l.updatePod(pod, true, nil).next; next.name != podDeleteNow {
		t.Errorf("due after the recovery: %+v", next)
	}
}

// deletedPod returns a copy of a Pod that was deleted just now.
func deletedPod(pod *corev1.Pod) *corev1.Pod {
	deleted := pod.DeepCopy()
	deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = &metav1.Time{Time: epoch.Add(30 * time.Second)}, new(int64(30))
	deleted.ResourceVersion = "deleted"
	return deleted
}
