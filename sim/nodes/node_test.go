package nodes

import (
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestNetworkCondition: node-route-controller sets a missing condition up to 10 s after a
// control plane has settled, which then differs from a snapshot of itself.
func TestNetworkCondition(t *testing.T) {
	shape, err := Config{}.nodeShape()
	if err != nil {
		t.Fatal(err)
	}
	network := func(st corev1.NodeStatus) (found []corev1.NodeCondition) {
		return slices.DeleteFunc(slices.Clone(st.Conditions), func(c corev1.NodeCondition) bool { return c.Type != corev1.NodeNetworkUnavailable })
	}
	created := shape.newNode("node-1", netip.Addr{}, epoch)
	ofUser, _ := shape.nodeStatus(testNode(nil), netip.Addr{}, epoch)
	for name, st := range map[string]corev1.NodeStatus{"of the fleet": created.Status, "of a user": ofUser} {
		got := network(st)
		if len(got) != 1 || got[0].Status != corev1.ConditionFalse || got[0].Reason != "RouteCreated" {
			t.Errorf("a node %s: got %+v, want what node-route-controller sets", name, got)
		}
	}
	broken := testNode(func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "NoRouteCreated"}}
	})
	st, _ := shape.nodeStatus(broken, netip.Addr{}, epoch)
	if got := network(st); len(got) != 1 || got[0].Reason != "NoRouteCreated" {
		t.Errorf("a node without a route: got %+v, want it kept", got)
	}
}
