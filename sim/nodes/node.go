package nodes

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/pkg/version"
	nodeutil "k8s.io/component-helpers/node/util"
	"k8s.io/kubernetes/pkg/cluster/ports"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// statusInterval is the average interval at which the status of a node is written
// when nothing changes: a kubelet's nodeStatusReportFrequency.
const statusInterval = 5 * time.Minute

// statusIntervalOf returns an interval between half and one and a half of
// statusInterval. Kubelets do the same, so that nodes that were created together do
// not write together.
func statusIntervalOf(name string) time.Duration {
	h := fnv.New32a()
	h.Write([]byte(name))
	return statusInterval/2 + statusInterval*time.Duration(h.Sum32()%1000)/1000
}

// newNode returns a node of the fleet as a kubelet would register it.
func (s nodeShape) newNode(name string, addr netip.Addr, now time.Time) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			// Controllers would add the TTL and the deprecated labels: with them from
			// the start, a node is written two times less.
			Annotations: map[string]string{annotations.KwokNode: annotations.KwokFake, corev1.ObjectTTLAnnotationKey: "0"},
			Labels: map[string]string{
				fleetLabel:                       "true",
				corev1.LabelHostname:             name,
				corev1.LabelOSStable:             "linux",
				corev1.LabelArchStable:           runtime.GOARCH,
				"beta." + corev1.LabelOSStable:   "linux",
				"beta." + corev1.LabelArchStable: runtime.GOARCH,
				corev1.LabelTopologyZone:         zoneOf(name, s.zones),
				corev1.LabelTopologyRegion:       "local",
				corev1.LabelInstanceTypeStable:   "simulated",
			},
		},
		Spec: corev1.NodeSpec{Taints: s.taints},
	}
	if s.providerID != nil {
		node.Spec.ProviderID = s.providerID(name)
	}
	for key, value := range s.labels {
		node.Labels[key] = value
	}
	node.Status, _ = s.nodeStatus(node, addr, now)
	return node
}

// nodeStatus returns the status that a kubelet would report now, and when to report
// it again. It keeps what the creator of the node has set.
func (s nodeShape) nodeStatus(node *corev1.Node, addr netip.Addr, now time.Time) (corev1.NodeStatus, time.Time) {
	st := *node.Status.DeepCopy()
	s.setResources(&st)
	setAddress(&st, corev1.NodeInternalIP, addr.String())
	setAddress(&st, corev1.NodeHostName, node.Name)
	if isFleetNode(node) { // as a kubelet does: another version, or other feature gates, may have run before
		st.NodeInfo.KubeletVersion, st.DeclaredFeatures = "", nil
	}
	setNodeInfo(&st.NodeInfo, node.Name)
	st.DaemonEndpoints.KubeletEndpoint.Port = cmp.Or(st.DaemonEndpoints.KubeletEndpoint.Port, ports.KubeletPort)
	if len(st.DeclaredFeatures) == 0 {
		st.DeclaredFeatures = s.features
	}
	changed := false
	for _, c := range healthyConditions {
		changed = setNodeCondition(&st, c, now) || changed
	}
	if !slices.ContainsFunc(st.Conditions, func(c corev1.NodeCondition) bool { return c.Type == networkCondition.Type }) {
		changed = setNodeCondition(&st, networkCondition, now) || changed
	}
	last := lastHeartbeat(&st)
	if next := last.Add(statusIntervalOf(node.Name)); !changed && now.Before(next) {
		return st, next
	}
	for i := range st.Conditions {
		if isKubeletCondition(st.Conditions[i].Type) {
			st.Conditions[i].LastHeartbeatTime = metav1.NewTime(now)
		}
	}
	return st, now.Add(statusIntervalOf(node.Name))
}

// healthyConditions are the conditions that the kubelet of a healthy node reports.
var healthyConditions = [...]corev1.NodeCondition{
	{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
	{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
	{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
	{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
}

// networkCondition is what node-route-controller sets when it next looks, up to 10 s later. kwok
// gives it to its nodes as well. What the controller or a user has set is kept.
var networkCondition = corev1.NodeCondition{
	Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated", Message: "RouteController created a route",
}

func isKubeletCondition(kind corev1.NodeConditionType) bool {
	return slices.ContainsFunc(healthyConditions[:], func(c corev1.NodeCondition) bool { return c.Type == kind })
}

// setNodeCondition sets a condition and reports whether its status has changed.
func setNodeCondition(st *corev1.NodeStatus, c corev1.NodeCondition, now time.Time) bool {
	c.LastHeartbeatTime, c.LastTransitionTime = metav1.NewTime(now), metav1.NewTime(now)
	i := slices.IndexFunc(st.Conditions, func(was corev1.NodeCondition) bool { return was.Type == c.Type })
	if i < 0 {
		st.Conditions = append(st.Conditions, c)
		return true
	}
	was := &st.Conditions[i]
	if was.Status == c.Status {
		return false // keeps a reason that another client has set
	}
	*was = c
	return true
}

func lastHeartbeat(st *corev1.NodeStatus) (last time.Time) {
	if _, ready := nodeutil.GetNodeCondition(st, corev1.NodeReady); ready != nil {
		last = ready.LastHeartbeatTime.Time
	}
	return last
}

func setAddress(st *corev1.NodeStatus, kind corev1.NodeAddressType, address string) {
	if !slices.ContainsFunc(st.Addresses, func(a corev1.NodeAddress) bool { return a.Type == kind }) {
		st.Addresses = append(st.Addresses, corev1.NodeAddress{Type: kind, Address: address})
	}
}

func setNodeInfo(info *corev1.NodeSystemInfo, node string) {
	fill := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	fill(&info.MachineID, strings.ReplaceAll(nodeUUID("machine", node), "-", ""))
	fill(&info.SystemUUID, nodeUUID("system", node))
	fill(&info.BootID, nodeUUID("boot", node)) // it never boots again: one that recovers has kept its Pods
	fill(&info.Architecture, runtime.GOARCH)
	fill(&info.OperatingSystem, "linux")
	fill(&info.OSImage, "simulated by ctrlplane")
	fill(&info.KernelVersion, "simulated")
	fill(&info.ContainerRuntimeVersion, "simulated://kwok")
	fill(&info.KubeletVersion, version.Get().GitVersion)
}

// nodeUUID returns an ID of what a node has instead of a machine: the same at each start.
func nodeUUID(kind, node string) string {
	h := sha256.Sum256([]byte(kind + " of " + node))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}

// nodeAddresses returns the internal addresses of a node, which are also those of its
// host-network Pods.
func nodeAddresses(node *corev1.Node) []netip.Addr {
	var list []netip.Addr
	for _, a := range node.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type == corev1.NodeInternalIP {
			list = append(list, addr)
		}
	}
	return list
}
