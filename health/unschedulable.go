package health

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	resourcehelper "k8s.io/component-helpers/resource"
	corev1scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// explainUnschedulable says what a Pod asks of a node that the nodes do not have: the message of the scheduler counts the
// nodes that it has excluded, and names neither the Pod's selector nor what the nodes have instead. It is "" if nothing is
// found.
func (s *reasonSearch) explainUnschedulable(u *unstructured.Unstructured, message string) string {
	var pod corev1.Pod
	if convertObject(u, &pod) != nil {
		return ""
	}
	nodes := s.listNodes()
	if len(nodes) == 0 {
		return ""
	}
	p := &placement{pod: &pod, message: message, nodes: nodes, noNode: "no node"}
	for _, explain := range []func() string{p.missingLabels, p.untoleratedTaint} {
		if text := explain(); text != "" { // no node is left
			return text
		}
	}
	return joinTexts(append(p.missingResources(), p.podAffinity(), p.spread(), p.hostPorts())...)
}

// listNodes lists the Nodes, only once for searches that share a cache. It is not an error of the search if that fails.
func (s *reasonSearch) listNodes() []*corev1.Node {
	if s.cache.nodes == nil {
		before := s.err
		s.cache.nodes = []*corev1.Node{}
		for _, u := range s.listAll(coreResource("nodes"), "") {
			node := new(corev1.Node)
			if convertObject(&u, node) == nil {
				s.cache.nodes = append(s.cache.nodes, node)
			}
		}
		s.err = before
	}
	return s.cache.nodes
}

// placement looks for what prevents a Pod from running on the nodes.
type placement struct {
	pod     *corev1.Pod
	message string         // the scheduler's
	nodes   []*corev1.Node // that are not excluded
	noNode  string         // says which these are
}

// keep excludes the nodes for which a condition does not hold. It reports whether any is left.
func (p *placement) keep(fits func(*corev1.Node) bool) bool {
	left := slices.DeleteFunc(slices.Clone(p.nodes), func(n *corev1.Node) bool { return !fits(n) })
	if len(left) > 0 && len(left) < len(p.nodes) {
		p.noNode = "no node that it may run on"
	}
	if len(left) > 0 {
		p.nodes = left
	}
	return len(left) > 0
}

// missingLabels names what the Pod's nodeSelector and node affinity require, if no node has it.
func (p *placement) missingLabels() string {
	required := nodeaffinity.GetRequiredNodeAffinity(p.pod)
	if p.keep(func(n *corev1.Node) bool { fits, err := required.Match(n); return fits && err == nil }) {
		return ""
	}
	selector := p.pod.Spec.NodeSelector
	var all, missing []string
	for _, key := range slices.Sorted(maps.Keys(selector)) {
		label := key + "=" + selector[key]
		all = append(all, label)
		if !slices.ContainsFunc(p.nodes, func(n *corev1.Node) bool { v, ok := n.Labels[key]; return ok && v == selector[key] }) {
			missing = append(missing, label)
		}
	}
	switch {
	case len(missing) > 0:
		return fmt.Sprintf("no node has the label %s (spec.nodeSelector)", words.Or(missing))
	case len(all) > 1 && !slices.ContainsFunc(p.nodes, func(n *corev1.Node) bool { return labels.SelectorFromSet(selector).Matches(labels.Set(n.Labels)) }):
		return fmt.Sprintf("no node has all of the labels %s (spec.nodeSelector)", words.And(all))
	}
	text := "no node matches its required node affinity: " + describeNodeAffinity(p.pod.Spec.Affinity.NodeAffinity)
	if len(all) > 0 {
		text += fmt.Sprintf(", and has %s (spec.nodeSelector)", words.And(all))
	}
	return text
}

// describeNodeAffinity returns the required terms of a node affinity, of which one has to match.
func describeNodeAffinity(a *corev1.NodeAffinity) string {
	var terms []string
	for _, term := range a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		var parts []string
		for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			part := r.Key + " " + string(r.Operator)
			if len(r.Values) > 0 {
				part += " (" + words.First(r.Values, maxValues) + ")"
			}
			parts = append(parts, part)
		}
		terms = append(terms, words.And(parts))
	}
	return strings.Join(terms, ", or ")
}

// maxValues is how many values of a requirement are named.
const maxValues = 5

// untoleratedTaint names the taint that the Pod does not tolerate, if each node has one.
func (p *placement) untoleratedTaint() string {
	taintOf := func(n *corev1.Node) (corev1.Taint, bool) {
		return corev1scheduling.FindMatchingUntoleratedTaint(klog.Background(), n.Spec.Taints, p.pod.Spec.Tolerations,
			func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, true)
	}
	nodes := p.nodes
	if p.keep(func(n *corev1.Node) bool { _, has := taintOf(n); return !has }) {
		return ""
	}
	taint, _ := taintOf(nodes[0])
	same := 0
	for _, n := range nodes[1:] {
		if other, _ := taintOf(n); other.ToString() == taint.ToString() {
			same++
		}
	}
	text := fmt.Sprintf("it does not tolerate the taint %s of node %s", taint.ToString(), nodes[0].Name)
	if same > 0 {
		text += " and of " + words.Count(same, "other node")
	}
	if others := len(nodes) - 1 - same; others > 0 {
		text += ", nor those of " + words.Count(others, "other node")
	}
	return text
}

// missingResources says of each resource that the Pod requests if no node has that much, or has that much left.
func (p *placement) missingResources() (texts []string) {
	requests := resourcehelper.PodRequests(p.pod, resourcehelper.PodResourcesOptions{})
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		request, most := requests[name], p.most(name)
		switch {
		case request.IsZero():
		case most == nil:
			texts = append(texts, fmt.Sprintf("%s has the resource %s", p.noNode, name))
		case request.Cmp(most.Status.Allocatable[name]) > 0:
			has := most.Status.Allocatable[name]
			texts = append(texts, fmt.Sprintf("it requests %s %s, and %s has more than %s", name, &request, p.noNode, &has))
		case p.excluded("Insufficient "+string(name)) == len(p.nodes):
			has := most.Status.Allocatable[name]
			texts = append(texts, fmt.Sprintf("it requests %s %s, and %s has that much left: the largest has %s", name, &request, p.noNode, &has))
		}
	}
	return texts
}

// excluded returns of how many nodes the scheduler says that a reason excludes them.
func (p *placement) excluded(reason string) int {
	for part := range strings.SplitSeq(strings.TrimSuffix(cutPreemption(p.message), "."), ", ") {
		before, ok := strings.CutSuffix(part, " "+reason)
		if !ok {
			continue
		}
		if n, err := strconv.Atoi(before[strings.LastIndexByte(before, ' ')+1:]); err == nil {
			return n
		}
	}
	return 0
}

// most returns the node that has the most of a resource for Pods; nil if none has it.
func (p *placement) most(name corev1.ResourceName) *corev1.Node {
	have := slices.DeleteFunc(slices.Clone(p.nodes), func(n *corev1.Node) bool { _, has := n.Status.Allocatable[name]; return !has })
	if len(have) == 0 {
		return nil
	}
	return slices.MaxFunc(have, func(a, b *corev1.Node) int {
		x, y := a.Status.Allocatable[name], b.Status.Allocatable[name]
		return cmp.Or(x.Cmp(y), cmp.Compare(b.Name, a.Name))
	})
}

// What upstream's scheduler says of nodes that a rule excludes, after their number.
const (
	breaksAntiAffinity = "node(s) didn't match pod anti-affinity rules"
	breaksAffinity     = "node(s) didn't match pod affinity rules"
	breaksSpread       = "node(s) didn't match pod topology spread constraints"
	lacksSpreadLabel   = breaksSpread + " (missing required label)"
	portsInUse         = "node(s) didn't have free ports for the requested pod ports"
)

// podAffinity names the Pods that the Pod must or must not be beside, if the scheduler says that this excludes nodes.
func (p *placement) podAffinity() string {
	a := p.pod.Spec.Affinity
	if a == nil {
		return ""
	}
	var texts []string
	if a.PodAntiAffinity != nil && p.excluded(breaksAntiAffinity) > 0 {
		for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			texts = append(texts, fmt.Sprintf("it must not share the %s of %s", t.TopologyKey, describePods(t.LabelSelector)+describeNamespaces(&t)))
		}
	}
	if a.PodAffinity != nil && p.excluded(breaksAffinity) > 0 {
		for _, t := range a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			texts = append(texts, fmt.Sprintf("it must share the %s of one of %s", t.TopologyKey, describePods(t.LabelSelector)+describeNamespaces(&t)))
		}
	}
	return joinTexts(texts...)
}

// describePods says which Pods a selector selects.
func describePods(s *metav1.LabelSelector) string {
	switch {
	case s == nil:
		return "no Pods"
	case len(s.MatchLabels)+len(s.MatchExpressions) == 0:
		return "all Pods"
	}
	return "the Pods with " + metav1.FormatLabelSelector(s)
}

// describeNamespaces says in which namespaces a term of a Pod affinity counts Pods; "" if only in that of its Pod.
func describeNamespaces(t *corev1.PodAffinityTerm) string {
	var texts []string
	if len(t.Namespaces) > 0 {
		texts = append(texts, "namespace "+words.Or(t.Namespaces))
	}
	switch s := t.NamespaceSelector; {
	case s == nil:
	case len(s.MatchLabels)+len(s.MatchExpressions) == 0:
		return " in any namespace"
	default:
		texts = append(texts, "namespaces with "+metav1.FormatLabelSelector(s))
	}
	if len(texts) == 0 {
		return ""
	}
	return " in " + words.Or(texts)
}

// spread names the topology spread constraints, if the scheduler says that they exclude nodes.
func (p *placement) spread() string {
	if p.excluded(breaksSpread)+p.excluded(lacksSpreadLabel) == 0 {
		return ""
	}
	var texts []string
	for _, c := range p.pod.Spec.TopologySpreadConstraints {
		hasKey := func(n *corev1.Node) bool { _, has := n.Labels[c.TopologyKey]; return has }
		switch {
		case c.WhenUnsatisfiable != corev1.DoNotSchedule:
		case !slices.ContainsFunc(p.nodes, hasKey):
			texts = append(texts, fmt.Sprintf("%s has the label %s, which its topologySpreadConstraints require", p.noNode, c.TopologyKey))
		default:
			texts = append(texts, fmt.Sprintf("the numbers of %s may differ by %d between values of %s (spec.topologySpreadConstraints)",
				describePods(c.LabelSelector), c.MaxSkew, c.TopologyKey))
		}
	}
	return joinTexts(texts...)
}

// hostPorts names the host ports of the Pod, if the scheduler says that other Pods use one.
func (p *placement) hostPorts() string {
	in := p.excluded(portsInUse)
	if in == 0 {
		return ""
	}
	var ports []string
	for _, c := range slices.Concat(p.pod.Spec.Containers, p.pod.Spec.InitContainers) {
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				ports = append(ports, fmt.Sprintf("%d/%s", port.HostPort, cmp.Or(port.Protocol, corev1.ProtocolTCP)))
			}
		}
	}
	if len(ports) == 0 {
		return ""
	}
	return fmt.Sprintf("other Pods have its hostPort %s on %s", words.Or(ports), words.Count(in, "node"))
}

// What the scheduler says of nodes where deleting other Pods would not help, or where none has a lower priority.
const (
	preemption = " preemption: "
	noVictims  = "No preemption victims found for incoming pod"
	notHelpful = "Preemption is not helpful for scheduling"
)

// cutPreemption returns the scheduler's message without what it says about preemption.
func cutPreemption(message string) string {
	before, _, _ := strings.Cut(message, preemption)
	return before
}

// cutUselessPreemption is like cutPreemption if preemption does not help on any node, and returns the whole message otherwise.
func cutUselessPreemption(message string) string {
	_, after, _ := strings.Cut(message, preemption)
	_, reasons, _ := strings.Cut(after, "nodes are available: ")
	if reasons == "" {
		return message
	}
	for reason := range strings.SplitSeq(strings.TrimSuffix(reasons, "."), ", ") {
		if !strings.HasSuffix(reason, noVictims) && !strings.HasSuffix(reason, notHelpful) {
			return message
		}
	}
	return cutPreemption(message)
}
