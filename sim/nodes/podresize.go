package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-helpers/resource"
	"k8s.io/kubernetes/pkg/features"
)

// resizeRetryInterval is how often a deferred resize is retried.
const resizeRetryInterval = 10 * time.Second

// resizePod gives an admitted Pod the resources that its spec asks for now, or
// returns why it keeps those that it has.
func (r *podRegistry) resizePod(pod *corev1.Pod, e *podEntry) *rejection {
	if pod.Generation == e.load.generation {
		return nil
	}
	of, wants := r.loadOf(e.node), podLoadOf(pod)
	of.remove(e.load)
	var why *rejection
	if !wants.sameRequests(e.load) {
		why = checkAdmission(pod, r.shape.withAllocatable(r.nodes[e.node].node), of)
	}
	if why == nil {
		e.load = wants
	}
	of.add(e.load)
	return why
}

// setPodResources sets the resources that a Pod has as a whole, if its spec says which.
func setPodResources(pod *corev1.Pod, st *corev1.PodStatus) {
	if pod.Spec.Resources == nil || !utilfeature.DefaultFeatureGate.Enabled(features.InPlacePodLevelResourcesVerticalScaling) {
		return
	}
	st.AllocatedResources = resource.PodRequests(pod, resource.PodResourcesOptions{})
	st.Resources = &corev1.ResourceRequirements{Requests: st.AllocatedResources, Limits: resource.PodLimits(pod, resource.PodResourcesOptions{})}
}

// setResizeConditions sets or removes the conditions that say that a resize is pending, or
// that containers restart for it. Upstream's kubelet defers every resize that its admission
// rejects.
func setResizeConditions(pod *corev1.Pod, st *corev1.PodStatus, why *rejection, inProgress bool, now time.Time) {
	reason, message := "", ""
	if why != nil {
		reason, message = corev1.PodReasonDeferred, why.message
	}
	setResizeCondition(pod, st, corev1.PodResizePending, why != nil, reason, message, now)
	setResizeCondition(pod, st, corev1.PodResizeInProgress, inProgress, "", "", now)
}

// setResizeCondition sets or removes a condition.
func setResizeCondition(pod *corev1.Pod, st *corev1.PodStatus, kind corev1.PodConditionType, holds bool, reason, message string, now time.Time) {
	i := slices.IndexFunc(st.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	switch {
	case !holds && i >= 0:
		st.Conditions = slices.Delete(st.Conditions, i, i+1)
	case !holds:
	case i < 0:
		st.Conditions = append(st.Conditions, corev1.PodCondition{
			Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message,
			ObservedGeneration: pod.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	default:
		st.Conditions[i].Message, st.Conditions[i].ObservedGeneration = message, pod.Generation
	}
}
