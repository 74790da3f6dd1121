package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// explainPods explains why the Pods of a workload are not healthy, or that there are
// none.
func (s *reasonSearch) explainPods(owner *unstructured.Unstructured) string {
	if isUnobserved(owner) {
		return ""
	}
	pods := s.listOwned(coreResource("pods"), owner)
	if len(pods) == 0 && s.err == nil {
		return s.explainNoChildren(owner, "Pod")
	}
	return s.explainWorstPod(pods)
}

// explainWorstPod explains the Pod with the clearest problem.
func (s *reasonSearch) explainWorstPod(pods []unstructured.Unstructured) string {
	var worst *unstructured.Unstructured
	var p problem // of the worst one
	others := -1
	for i := range pods {
		pod := &pods[i]
		if StateOf(pod).Status == Current {
			continue
		}
		others++
		if found := problemOfUnstructured(pod); worst == nil || cmp.Or(cmp.Compare(p.clarity, found.clarity), cmp.Compare(pod.GetName(), worst.GetName())) < 0 {
			worst, p = pod, found
		}
	}
	if worst == nil {
		return ""
	}
	text := fmt.Sprintf("Pod %s: %s", worst.GetName(), s.withDetails(worst, p))
	if others > 0 {
		text = trimStop(text) + fmt.Sprintf(" (and %s)", words.Count(others, "other Pod"))
	}
	return s.addSimulation(text, worst, p)
}

// explainPod explains why a Pod is not healthy.
func (s *reasonSearch) explainPod(u *unstructured.Unstructured) string {
	p := problemOfUnstructured(u)
	return s.addSimulation(s.withDetails(u, p), u, p)
}

// withDetails adds information from other objects to the problem of a Pod.
func (s *reasonSearch) withDetails(u *unstructured.Unstructured, p problem) string {
	if u.GetDeletionTimestamp() != nil {
		return s.explainDeletion(u)
	}
	s.noteNode(u)
	if s.log = p.log; s.log != nil {
		s.log.Namespace, s.log.Pod = u.GetNamespace(), u.GetName()
	}
	missing := s.explainMissingNode(u)
	if missing != "" && p.starting {
		return missing
	}
	return joinTexts(s.detailProblem(u, p), missing, s.explainRevision(u))
}

// detailProblem adds to a problem of a Pod what its claims or events say.
func (s *reasonSearch) detailProblem(u *unstructured.Unstructured, p problem) string {
	if p.gated {
		return joinTexts(p.text, s.explainObstacles(u))
	}
	if p.clarity == clarityUnassigned {
		if claim := s.explainClaims(u); claim != "" {
			return p.text + "; " + claim
		}
	}
	if p.kind == observe.Unschedulable {
		return joinTexts(p.text, s.explainUnschedulable(u, p.text))
	}
	switch {
	case p.end != nil:
		return s.addKill(p, u)
	case p.vague:
		return s.addLastWarning(p.text, u)
	}
	return p.text
}

// clarity says how clearly a problem shows the cause.
type clarity int

const (
	clarityStarting clarity = iota
	clarityUnready
	clarityUnassigned
	clarityStuck
	clarityCrashed
)

// problem is a problem that a Pod itself reports.
type problem struct {
	clarity   clarity
	text      string
	vague     bool // its events may have details
	gated     bool // it has scheduling gates
	starting  bool // the kubelet of its node has not reported anything about it
	log       *ContainerLog
	container string                           // that has the problem; empty if none has
	end       *corev1.ContainerStateTerminated // how it has ended; nil if that is not the problem
	kind      observe.ProblemKind              // as ProblemOf counts it; empty if it does not
}

func problemOfUnstructured(u *unstructured.Unstructured) problem {
	var pod corev1.Pod
	if err := convertObject(u, &pod); err != nil {
		return problem{text: err.Error()}
	}
	return podProblem(&pod)
}

func podProblem(pod *corev1.Pod) problem {
	if pod.Status.Phase == corev1.PodFailed {
		return failureOf(pod)
	}
	if p, ok := containersProblem(pod); ok {
		return p
	}
	if p, ok := unassignedProblem(pod); ok {
		return p
	}
	return problemOnNode(pod)
}

// unassignedProblem returns the problem of a Pod that is not assigned to a node; false if it is.
func unassignedProblem(pod *corev1.Pod) (p problem, ok bool) {
	p.clarity = clarityUnassigned
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
	})
	if i < 0 {
		p.vague, p.text = true, "not assigned to a node by a scheduler"
		if name := pod.Spec.SchedulerName; name != "" && name != corev1.DefaultSchedulerName {
			p.text = fmt.Sprintf("not assigned to a node by scheduler %s (spec.schedulerName)", name)
		}
		return p, pod.Spec.NodeName == ""
	}
	switch c := pod.Status.Conditions[i]; {
	case c.Reason == corev1.PodReasonUnschedulable:
		p.kind, p.text = observe.Unschedulable, "unschedulable: "+cutUselessPreemption(c.Message)
	case c.Reason == corev1.PodReasonSchedulingGated && len(pod.Spec.SchedulingGates) > 0:
		p.gated, p.text = true, "SchedulingGated: "+describeGates(pod.Spec.SchedulingGates)
	default:
		p.text = joinReason(c.Reason, c.Message)
	}
	return p, true
}

// describeGates names the scheduling gates of a Pod.
func describeGates(gates []corev1.PodSchedulingGate) string {
	names := make([]string, len(gates))
	for i, g := range gates {
		names[i] = g.Name
	}
	noun := "gate"
	if len(names) > 1 {
		noun = "gates"
	}
	return fmt.Sprintf("waits for the removal of scheduling %s %s (spec.schedulingGates)", noun, words.First(names, maxGates))
}

// maxGates is how many scheduling gates of a Pod are named.
const maxGates = 5

// failureOf returns why a Pod has failed: the reason of the kubelet that ended it, if one did, and then its containers, whose
// exit codes are those of the kubelet's signals.
func failureOf(pod *corev1.Pod) problem {
	reason := joinReason(pod.Status.Reason, pod.Status.Message)
	p, _ := containersProblem(pod)
	isUnknown := p.end != nil && p.end.Reason == lostReason
	if p.clarity < clarityStuck || isUnknown && reason != "" {
		return problem{clarity: clarityCrashed, text: cmp.Or(reason, "failed")}
	}
	p.clarity, p.text = clarityCrashed, joinTexts(strings.TrimSuffix(reason, "."), p.text)
	return p
}

// problemOnNode returns the problem of a Pod that is assigned to a node.
func problemOnNode(pod *corev1.Pod) problem {
	if len(pod.Status.ContainerStatuses)+len(pod.Status.InitContainerStatuses) == 0 {
		return problem{clarity: clarityStarting, text: fmt.Sprintf("the kubelet of node %s has not started it", pod.Spec.NodeName), vague: true, starting: true}
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}) {
			return problem{clarity: clarityUnready, text: fmt.Sprintf("readiness gate %s is not true", gate.ConditionType), vague: true}
		}
	}
	return problem{clarity: clarityStarting, text: "not ready", vague: true}
}
