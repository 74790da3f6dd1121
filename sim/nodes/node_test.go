package nodes

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/pkg/version"
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

// TestFactsOfTheProcess: what another process has written about a node of the fleet, with an older version
// or with other feature gates, is replaced once. What the creator of another node has set is kept.
func TestFactsOfTheProcess(t *testing.T) {
	shape, err := Config{}.nodeShape()
	if err != nil {
		t.Fatal(err)
	}
	facts := func(st corev1.NodeStatus) string {
		return fmt.Sprint(st.NodeInfo.KubeletVersion, " ", st.DeclaredFeatures)
	}
	own := facts(corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KubeletVersion: version.Get().GitVersion}, DeclaredFeatures: shape.features})
	ofUser := testNode(nil)
	ofUser.Status, _ = shape.nodeStatus(ofUser, netip.Addr{}, epoch)
	for name, c := range map[string]struct {
		node     *corev1.Node
		features []string
		want     string
	}{
		"of the fleet":                   {shape.newNode("node-1", netip.Addr{}, epoch), []string{"Old"}, own},
		"of the fleet, without features": {shape.newNode("node-1", netip.Addr{}, epoch), nil, own},
		"of a user":                      {ofUser, []string{"Old"}, "v1.0.0 [Old]"},
	} {
		if due := nextNodeStage(shape, c.node, netip.Addr{}, epoch); due.name != nodeStatusLater {
			t.Errorf("%s: nothing differs, and %+v is due", name, due)
		}
		c.node.Status.NodeInfo.KubeletVersion, c.node.Status.DeclaredFeatures = "v1.0.0", c.features
		if got, _ := shape.nodeStatus(c.node, netip.Addr{}, epoch); facts(got) != c.want {
			t.Errorf("%s: %s, want %s", name, facts(got), c.want)
		}
	}
	shape.features = nil
	node := shape.newNode("node-1", netip.Addr{}, epoch)
	node.Status.DeclaredFeatures = []string{"Old"}
	if st, _ := shape.nodeStatus(node, netip.Addr{}, epoch); len(st.DeclaredFeatures) > 0 {
		t.Errorf("declared with a gate off: %q", st.DeclaredFeatures)
	}
}

// TestIdentityOfNodes: the IDs of a node differ from those of others, and stay. What its creator has set is kept.
func TestIdentityOfNodes(t *testing.T) {
	shape, err := Config{}.nodeShape()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range []string{"node-1", "node-2"} {
		info := shape.newNode(name, netip.Addr{}, epoch).Status.NodeInfo
		if again := shape.newNode(name, netip.Addr{}, epoch).Status.NodeInfo; again != info {
			t.Errorf("%s: got %+v and %+v", name, info, again)
		}
		for id, format := range map[string]string{info.MachineID: "^[0-9a-f]{32}$", info.SystemUUID: uuidFormat, info.BootID: uuidFormat} {
			if seen[id] || !regexp.MustCompile(format).MatchString(id) {
				t.Errorf("%s: %q", name, id)
			}
			seen[id] = true
		}
	}
	st, _ := shape.nodeStatus(testNode(nil), netip.Addr{}, epoch)
	if port := st.DaemonEndpoints.KubeletEndpoint.Port; port != 10250 || st.NodeInfo.MachineID == "" {
		t.Errorf("a node of a user: port %d, %+v", port, st.NodeInfo)
	}
	own := testNode(func(n *corev1.Node) {
		n.Status.NodeInfo.SystemUUID, n.Status.DaemonEndpoints.KubeletEndpoint.Port = "own", 1
	})
	if st, _ := shape.nodeStatus(own, netip.Addr{}, epoch); st.NodeInfo.SystemUUID != "own" || st.DaemonEndpoints.KubeletEndpoint.Port != 1 {
		t.Errorf("got %+v", st)
	}
}

const uuidFormat = "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
