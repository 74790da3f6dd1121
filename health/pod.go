package health

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// explainPods says what ails the Pods of a workload, or that there are none.
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

// explainUnhealthyPods is like pods, but says nothing where there are none.
func (s *reasonSearch) explainUnhealthyPods(owner *unstructured.Unstructured) string {
	return s.explainWorstPod(s.listOwned(coreResource("pods"), owner))
}

// explainWorstPod says what ails the Pod that shows most clearly what is wrong.
func (s *reasonSearch) explainWorstPod(pods []unstructured.Unstructured) string {
	type ailment struct {
		pod *unstructured.Unstructured
		trouble
	}
	var all []ailment
	for i := range pods {
		if StateOf(&pods[i]).Status != Current {
			all = append(all, ailment{&pods[i], podProblem(&pods[i])})
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.SortFunc(all, func(a, b ailment) int {
		return cmp.Or(int(b.clarity-a.clarity), cmp.Compare(a.pod.GetName(), b.pod.GetName()))
	})
	text := fmt.Sprintf("Pod %s: %s", all[0].pod.GetName(), s.withDetails(all[0].pod, all[0].trouble))
	if others := len(all) - 1; others > 0 {
		text += fmt.Sprintf(" (and %s)", count(others, "other Pod"))
	}
	return text
}

// explainPod says what ails a Pod.
func (s *reasonSearch) explainPod(u *unstructured.Unstructured) string {
	return s.withDetails(u, podProblem(u))
}

// withDetails adds to vague trouble of a Pod what can be found elsewhere.
func (s *reasonSearch) withDetails(u *unstructured.Unstructured, t trouble) string {
	if u.GetDeletionTimestamp() != nil {
		return s.explainDeletion(u)
	}
	if t.clarity == clarityUnassigned {
		if claim := s.explainClaims(u); claim != "" {
			return t.text + "; " + claim
		}
	}
	if t.vague {
		if warning := s.lastWarning(u); warning != "" {
			return t.text + "; its last warning: " + warning
		}
	}
	return t.text
}

// clarity says how clearly a trouble shows what is wrong.
type clarity int

const (
	clarityStarting clarity = iota
	clarityUnready
	clarityUnassigned
	clarityStuck
	clarityCrashed
)

// trouble is what a Pod itself tells of why it is not healthy.
type trouble struct {
	clarity clarity
	text    string
	vague   bool // its events may tell more
}

func podProblem(u *unstructured.Unstructured) trouble {
	var pod corev1.Pod
	if err := convert(u, &pod); err != nil {
		return trouble{text: err.Error()}
	}
	if t, ok := containersProblem(&pod); ok {
		return t
	}
	if pod.Status.Phase == corev1.PodFailed {
		return trouble{clarityCrashed, cmp.Or(joinReason(pod.Status.Reason, pod.Status.Message), "it has failed"), false}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			if c.Reason == corev1.PodReasonUnschedulable {
				return trouble{clarityUnassigned, "it is unschedulable: " + c.Message, false}
			}
			return trouble{clarityUnassigned, joinReason(c.Reason, c.Message), false}
		}
	}
	if pod.Spec.NodeName == "" {
		return trouble{clarityUnassigned, "it has no node: no scheduler has chosen one", true}
	}
	return nodeProblem(&pod)
}

// nodeProblem is what keeps a Pod whose node was chosen.
func nodeProblem(pod *corev1.Pod) trouble {
	if len(pod.Status.ContainerStatuses)+len(pod.Status.InitContainerStatuses) == 0 {
		return trouble{clarityStarting, fmt.Sprintf("the kubelet of node %s has not started it", pod.Spec.NodeName), true}
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}) {
			return trouble{clarityUnready, fmt.Sprintf("its readiness gate %s is not true", gate.ConditionType), true}
		}
	}
	return trouble{clarityStarting, "it is not ready", true}
}
