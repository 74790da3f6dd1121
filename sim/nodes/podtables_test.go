package nodes

import (
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A Pod that has finished keeps its address in its status. Whoever connects to it must not reach the network.
func TestAddressesThatOnlySimulatedPodsHave(t *testing.T) {
	l := newTestRegistry(t, testNode(nil))
	l.updateNode(testNode(func(n *corev1.Node) { n.Name, n.UID, n.Spec.PodCIDRs = "without-range", "w", nil }))
	finish := func(uid, node, want string) {
		t.Helper()
		change := func(p *corev1.Pod) { p.Spec.NodeName = node }
		if got := assignedPodIPs(l, uid, change); got != "["+want+"]" {
			t.Fatalf("%s has %s, want %s", uid, got, want)
		}
		assignedPodIPs(l, uid, func(p *corev1.Pod) {
			change(p)
			p.Status.Phase, p.Status.PodIP = corev1.PodSucceeded, want
		})
		if l.isPodAddress(netip.MustParseAddr(want)) {
			t.Errorf("%s still has its address", uid)
		}
	}
	finish("a", "node-1", "10.244.1.1")
	finish("b", "without-range", "100.64.0.1")
	expect := func(want bool, addresses ...string) {
		t.Helper()
		for _, addr := range addresses {
			if got := l.isReserved(netip.MustParseAddr(addr)); got != want {
				t.Errorf("%s: got %t", addr, got)
			}
		}
	}
	expect(true, "10.244.1.1", "10.244.1.77", "100.64.0.1", "172.16.0.1", "172.16.0.2")
	expect(false, "10.244.2.1", "100.64.0.2", "172.16.0.3", "127.0.0.1", "fd00::1")
	l.deleteNode("node-1")
	l.deleteNode("without-range")
	expect(true, "10.244.1.1", "100.64.0.1", "172.16.0.1", "172.16.0.2")
	l.updateNode(testNode(func(n *corev1.Node) { n.Name, n.UID, n.Annotations = "kubelet", "k", nil }))
	expect(false, "10.244.1.1")
}

// A control plane that starts again may find only Pods that have finished.
func TestAddressesOfNodesWithoutPods(t *testing.T) {
	if l := newTestRegistry(t, testNode(nil)); !l.isReserved(netip.MustParseAddr("10.244.1.1")) {
		t.Error("the range of a node counts as outside")
	}
}
