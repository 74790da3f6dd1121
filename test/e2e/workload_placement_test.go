package e2e_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	hostnameKey = corev1.LabelHostname
	maxSkew     = int32(1)
)

func nodeNames(list []corev1.Pod) []string {
	var names []string
	for _, p := range list {
		names = append(names, p.Spec.NodeName)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Topology spread puts one Pod on each node, anti-affinity keeps a Pod away from all of
// them, and affinity puts two Pods on one node.
func TestWorkloadPlacement(t *testing.T) {
	ns := beginWorkload(t)
	pool := uniqueName("pool")
	nodes := []string{createOwnNode(t, pool), createOwnNode(t, pool), createOwnNode(t, pool)}
	slices.Sort(nodes)
	place := func(name, app string, change func(*corev1.PodSpec)) {
		t.Helper()
		p := newPod(name, map[string]string{"app": app})
		selectPool(&p.Spec, pool)
		change(&p.Spec)
		createObject(t, pods(ns), p)
	}
	for _, name := range []string{"a", "b", "c"} {
		place(name, "spread", func(s *corev1.PodSpec) {
			s.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: maxSkew, TopologyKey: hostnameKey, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: labelSelector(map[string]string{"app": "spread"}),
			}}
		})
	}
	if got := nodeNames(awaitRunning(t, ns, "app=spread", 3)); !slices.Equal(got, nodes) {
		t.Errorf("spread over %v, want %v", got, nodes)
	}
	near := func(app string) []corev1.PodAffinityTerm {
		return []corev1.PodAffinityTerm{{TopologyKey: hostnameKey, LabelSelector: labelSelector(map[string]string{"app": app})}}
	}
	place("alone", "alone", func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: near("spread")}}
	})
	p := await(t, "reason", getByName(pods(ns), "alone"), func(p *corev1.Pod) bool { return len(p.Status.Conditions) > 0 })
	if c := p.Status.Conditions[0]; c.Reason != corev1.PodReasonUnschedulable || !strings.Contains(c.Message, "anti-affinity") {
		t.Errorf("a pod with anti-affinity to all: %s", toYAML(c))
	}
	place("together", "together", func(s *corev1.PodSpec) {
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: near("leader")}}
	})
	place("leader", "leader", func(*corev1.PodSpec) {})
	leader := awaitRunning(t, ns, "app=leader", 1)
	if with := awaitRunning(t, ns, "app=together", 1); with[0].Spec.NodeName != leader[0].Spec.NodeName {
		t.Errorf("it runs on %s, want with the leader on %s", with[0].Spec.NodeName, leader[0].Spec.NodeName)
	}
	deleteObject(t, pods(ns), "b")
	awaitRunning(t, ns, "app=alone", 1)
}

// A NoExecute taint evicts the Pods that do not tolerate it.
func TestWorkloadTaints(t *testing.T) {
	ns := beginWorkload(t)
	pool := uniqueName("pool")
	name := createOwnNode(t, pool)
	for _, tolerant := range []bool{true, false} {
		p := newPod(map[bool]string{true: "stays", false: "leaves"}[tolerant], nil)
		selectPool(&p.Spec, pool)
		if tolerant {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "broken", Operator: corev1.TolerationOpExists})
		}
		p.Spec.TerminationGracePeriodSeconds = new(int64(0))
		createObject(t, pods(ns), p)
	}
	awaitRunning(t, ns, "", 2)
	updateObject(t, controlPlane.client.CoreV1().Nodes(), name, func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "broken", Effect: corev1.TaintEffectNoExecute})
	})
	awaitGone(t, "pod that does not tolerate it", getByName(pods(ns), "leaves"))
	if p := getObject(t, pods(ns), "stays"); !isRunning(*p) {
		t.Errorf("the pod that tolerates it: %s", toYAML(p.Status))
	}
}

// A Pod that is created with a node name bypasses the scheduler: the node admits it.
func TestWorkloadRejectedByNode(t *testing.T) {
	ns := beginWorkload(t)
	node := createOwnNode(t, uniqueName("pool"))
	for name, c := range map[string]struct {
		change func(*corev1.PodSpec)
		reason string
	}{
		"cpu":      {func(s *corev1.PodSpec) { s.Containers[0].Resources = cpuRequests("9") }, "OutOfcpu"},
		"selector": {func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"pool": "none"} }, "NodeAffinity"},
		"fits":     {func(s *corev1.PodSpec) { s.Containers[0].Resources = cpuRequests("8") }, ""},
	} {
		p := newPod(name, nil)
		p.Spec.NodeName = node
		c.change(&p.Spec)
		createObject(t, pods(ns), p)
		got := await(t, "decision", getByName(pods(ns), name), func(p *corev1.Pod) bool { return p.Status.Phase != corev1.PodPending })
		if got.Status.Reason != c.reason || (c.reason == "") != (got.Status.Phase == corev1.PodRunning) {
			t.Errorf("%s: %s", name, toYAML(got.Status))
		}
		if c.reason != "" {
			awaitEvent(t, ns, "Pod", name, c.reason)
		}
	}
}

// Invalid annotations, also those of kwok, are reported on the Pod.
func TestWorkloadWrongAnnotations(t *testing.T) {
	ns := beginWorkload(t)
	p := newPod("wrong", nil)
	p.Annotations = map[string]string{"ctrlplane.local/exit-code": "256", "kwok.x-k8s.io/usage-cpu": "much"}
	createObject(t, pods(ns), p)
	e := awaitEvent(t, ns, "Pod", "wrong", "InvalidAnnotation")
	for _, want := range []string{`"256" is not an exit code`, `"much" is not a quantity`} {
		if e.Type != corev1.EventTypeWarning || !strings.Contains(e.Message, want) {
			t.Errorf("%s event says %q, want %q", e.Type, e.Message, want)
		}
	}
	await(t, "running pod", getByName(pods(ns), "wrong"), func(p *corev1.Pod) bool { return isRunning(*p) })
}

// A node whose machine no longer exists at the cloud provider is deleted.
func TestWorkloadTerminatedNode(t *testing.T) {
	beginWorkload(t)
	c, nodes, name := newRemoteClient(t).Nodes(), controlPlane.client.CoreV1().Nodes(), createOwnNode(t, uniqueName("pool"))
	await(t, "ready node", getByName(nodes, name), func(n *corev1.Node) bool { return readyCondition(n).Status == corev1.ConditionTrue })
	if err := c.Terminate(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if err := c.Recover(t.Context(), name); err == nil || !strings.Contains(err.Error(), "terminated") {
		t.Errorf("recovery: %v", err)
	}
	awaitGoneWithin(t, nodeFailureTimeout, "node without a machine", getByName(nodes, name))
	awaitEvent(t, metav1.NamespaceDefault, "Node", name, "DeletingNode")
}
