package nodes

import (
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-helpers/resource"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/features"
)

// resizeRetryInterval is how often a deferred resize is retried.
const resizeRetryInterval = 10 * time.Second

// resizePod gives an admitted Pod the resources that its spec asks for now, or returns why
// it keeps those that it has. accepted means that it gets others.
func (r *podRegistry) resizePod(pod *corev1.Pod, e *podEntry) (why *rejection, accepted bool) {
	if pod.Generation == e.load.generation {
		return nil, false
	}
	of, wants := r.loadOf(e.node), podLoadOf(pod)
	of.remove(e.load)
	if !wants.sameRequests(e.load) {
		why = checkAdmission(pod, r.shape.withAllocatable(r.nodes[e.node].node), of)
	}
	if why == nil {
		accepted = wants.resources != e.load.resources
		e.load = wants
	}
	of.add(e.load)
	return why, accepted
}

// resourcesHash identifies the resources that the spec of a Pod asks for.
func resourcesHash(pod *corev1.Pod) uint64 {
	hash := fnv.New64a()
	for c := range podutil.ContainerIter(&pod.Spec, podutil.InitContainers|podutil.Containers) {
		_, _ = io.WriteString(hash, describeResources(&c.Resources)+"\n") // never fails
	}
	if pod.Spec.Resources != nil {
		_, _ = io.WriteString(hash, describeResources(pod.Spec.Resources))
	}
	return hash.Sum64()
}

// describeResources returns the same text for the same amounts. Upstream's String does not.
func describeResources(r *corev1.ResourceRequirements) string {
	var text strings.Builder
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			q := list[name]
			fmt.Fprintf(&text, "%s=%d ", name, q.MilliValue())
		}
		text.WriteString("/ ")
	}
	return text.String()
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
func setResizeConditions(pod *corev1.Pod, st *corev1.PodStatus, at placement, inProgress bool, now time.Time) {
	pending := corev1.PodCondition{Type: corev1.PodResizePending, ObservedGeneration: pod.Generation}
	if at.resizeRejected != nil {
		pending.Reason, pending.Message = corev1.PodReasonDeferred, at.resizeRejected.message
	}
	setResizeCondition(st, pending, at.resizeRejected != nil, now)
	progress := corev1.PodCondition{Type: corev1.PodResizeInProgress, ObservedGeneration: at.resizedBy}
	if _, was := podutil.GetPodCondition(st, corev1.PodResizeInProgress); at.resizedBy == 0 {
		progress.ObservedGeneration = pod.Generation
		if was != nil {
			progress.ObservedGeneration = was.ObservedGeneration
		}
	}
	setResizeCondition(st, progress, inProgress, now)
}

// setResizeCondition sets or removes a condition.
func setResizeCondition(st *corev1.PodStatus, to corev1.PodCondition, holds bool, now time.Time) {
	i := slices.IndexFunc(st.Conditions, func(c corev1.PodCondition) bool { return c.Type == to.Type })
	switch {
	case !holds && i >= 0:
		st.Conditions = slices.Delete(st.Conditions, i, i+1)
	case !holds:
	case i < 0:
		to.Status, to.LastTransitionTime = corev1.ConditionTrue, metav1.NewTime(now)
		st.Conditions = append(st.Conditions, to)
	default:
		st.Conditions[i].Message, st.Conditions[i].ObservedGeneration = to.Message, to.ObservedGeneration
	}
}
