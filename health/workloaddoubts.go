package health

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// doubtStatefulSet says that the Service of a StatefulSet does not exist, or that it does not replace Pods after a change.
func (s *reasonSearch) doubtStatefulSet(u *unstructured.Unstructured, set *appsv1.StatefulSet) string {
	old := ""
	if outdated := set.Status.Replicas - set.Status.UpdatedReplicas; outdated > 0 && set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType && !isUnobserved(u) {
		old = fmt.Sprintf("it has %s of an earlier revision: delete them to update them (spec.updateStrategy is OnDelete)", words.Count(int(outdated), "Pod"))
	}
	return joinTexts(s.doubtGoverningService(u), old)
}

// doubtGoverningService says that the Service of a StatefulSet does not exist.
func (s *reasonSearch) doubtGoverningService(u *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(u.Object, "spec", "serviceName")
	if name == "" || !s.missing(coreResource("services"), u.GetNamespace(), name) {
		return ""
	}
	return fmt.Sprintf("its Service %s (spec.serviceName) does not exist: its Pods have no DNS names", name)
}

// doubtDaemonSet says that a DaemonSet has no Pod because its template can run on no node.
func (s *reasonSearch) doubtDaemonSet(u *unstructured.Unstructured, set *appsv1.DaemonSet) string {
	if set.Status.DesiredNumberScheduled > 0 || isUnobserved(u) || set.Status.ObservedGeneration == 0 {
		return ""
	}
	return "it has no Pod: no node matches the nodeSelector, the affinity and the tolerations of its template"
}

// doubtAutoscaler quotes the conditions of an autoscaler that works, but that does not scale its target, or not as far as its
// metrics say.
func (s *reasonSearch) doubtAutoscaler(u *unstructured.Unstructured) string {
	active, _ := findCondition(u, string(autoscalingv2.ScalingActive))
	if active.Status == metav1.ConditionFalse {
		return describeReason("it does not scale", active)
	}
	if limited, _ := findCondition(u, string(autoscalingv2.ScalingLimited)); limited.Status == metav1.ConditionTrue && limited.Reason == "TooManyReplicas" {
		return describeReason("it is limited", limited)
	}
	return ""
}
