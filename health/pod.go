package health

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pods says what ails the Pods of a workload, or that there are none.
func (s *search) pods(owner *unstructured.Unstructured) string {
	if unobserved(owner) {
		return ""
	}
	pods := s.owned(core("pods"), owner)
	if len(pods) == 0 && s.err == nil {
		return s.idle(owner, "Pod")
	}
	return s.worst(pods)
}

// ailing is like pods, but says nothing where there are none.
func (s *search) ailing(owner *unstructured.Unstructured) string {
	return s.worst(s.owned(core("pods"), owner))
}

// worst says what ails the Pod that shows most clearly what is wrong.
func (s *search) worst(pods []unstructured.Unstructured) string {
	type ailment struct {
		pod *unstructured.Unstructured
		trouble
	}
	var all []ailment
	for i := range pods {
		if Of(&pods[i]).Status != Current {
			all = append(all, ailment{&pods[i], podTrouble(&pods[i])})
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.SortFunc(all, func(a, b ailment) int {
		return cmp.Or(int(b.weight-a.weight), cmp.Compare(a.pod.GetName(), b.pod.GetName()))
	})
	text := fmt.Sprintf("Pod %s: %s", all[0].pod.GetName(), s.detailed(all[0].pod, all[0].trouble))
	if others := len(all) - 1; others > 0 {
		text += fmt.Sprintf(" (and %s)", count(others, "other Pod"))
	}
	return text
}

// pod says what ails a Pod.
func (s *search) pod(u *unstructured.Unstructured) string {
	return s.detailed(u, podTrouble(u))
}

// detailed adds to vague trouble of a Pod what can be found elsewhere.
func (s *search) detailed(u *unstructured.Unstructured, t trouble) string {
	if u.GetDeletionTimestamp() != nil {
		return s.deleting(u)
	}
	if t.weight == unassigned {
		if claim := s.claims(u); claim != "" {
			return t.text + "; " + claim
		}
	}
	if t.vague {
		if warning := s.warning(u); warning != "" {
			return t.text + "; its last warning: " + warning
		}
	}
	return t.text
}

// weight says how clearly a trouble shows what is wrong.
type weight int

const (
	starting weight = iota
	unready
	unassigned
	stuck
	crashed
)

// trouble is what a Pod itself tells of why it is not healthy.
type trouble struct {
	weight weight
	text   string
	vague  bool // its events may tell more
}

func podTrouble(u *unstructured.Unstructured) trouble {
	var pod corev1.Pod
	if err := convert(u, &pod); err != nil {
		return trouble{text: err.Error()}
	}
	if t, ok := containersTrouble(&pod); ok {
		return t
	}
	if pod.Status.Phase == corev1.PodFailed {
		return trouble{crashed, cmp.Or(because(pod.Status.Reason, pod.Status.Message), "it has failed"), false}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			if c.Reason == corev1.PodReasonUnschedulable {
				return trouble{unassigned, "it is unschedulable: " + c.Message, false}
			}
			return trouble{unassigned, because(c.Reason, c.Message), false}
		}
	}
	if pod.Spec.NodeName == "" {
		return trouble{unassigned, "it has no node: no scheduler has chosen one", true}
	}
	return nodeTrouble(&pod)
}

// nodeTrouble is what keeps a Pod whose node was chosen.
func nodeTrouble(pod *corev1.Pod) trouble {
	if len(pod.Status.ContainerStatuses)+len(pod.Status.InitContainerStatuses) == 0 {
		return trouble{starting, fmt.Sprintf("the kubelet of node %s has not started it", pod.Spec.NodeName), true}
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		}) {
			return trouble{unready, fmt.Sprintf("its readiness gate %s is not true", gate.ConditionType), true}
		}
	}
	return trouble{starting, "it is not ready", true}
}
