package nodes

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/events"
)

// resizeReport is the reported state of a resize of a Pod.
type resizeReport struct {
	deferredBy, startedBy int64      // generations of the Pod; 0 if it is not deferred or on its way
	events                []podEvent // that are still to be recorded
}

// reportResize adds the events of a kubelet about a resize of a Pod. why is nil unless the
// resize is deferred; accepted means that the Pod gets other resources now.
func (e *podEntry) reportResize(pod *corev1.Pod, why *rejection, accepted bool) {
	if e.resize == nil {
		accepted = accepted || why == nil && pod.Generation > 1 && isResizing(pod) // accepted before this process started
		if !accepted && why == nil {
			return
		}
		e.resize = &resizeReport{deferredBy: deferredGeneration(pod)}
	}
	e.resize.report(pod, why, accepted)
}

// deferredGeneration returns the generation of the resize that the status of a Pod says is deferred; 0
// if none is.
func deferredGeneration(pod *corev1.Pod) int64 {
	if _, c := podutil.GetPodCondition(&pod.Status, corev1.PodResizePending); c != nil {
		return c.ObservedGeneration
	}
	return 0
}

func (r *resizeReport) report(pod *corev1.Pod, why *rejection, accepted bool) {
	log := klog.Background()
	switch {
	case why == nil:
		r.deferredBy = 0 // it was accepted or reverted
	case r.deferredBy != pod.Generation:
		r.deferredBy = pod.Generation
		message := events.PodResizePendingMsg(log, pod, corev1.PodReasonDeferred, why.message, pod.Generation)
		r.events = append(r.events, podEvent{warning: true, reason: events.ResizeDeferred, message: message})
	}
	if accepted {
		r.startedBy = pod.Generation
		r.events = append(r.events, podEvent{reason: events.ResizeStarted, message: events.PodResizeStartedMsg(log, pod, pod.Generation)})
		r.reportRestarts(pod)
	}
	if r.startedBy != 0 && !isResizing(pod) {
		r.events = append(r.events, podEvent{reason: events.ResizeCompleted, message: events.PodResizeCompletedMsg(log, pod, r.startedBy)})
		r.startedBy = 0
	}
}

// reportRestarts adds the events about the containers that restart for a resize.
func (r *resizeReport) reportRestarts(pod *corev1.Pod) {
	for c, s := range containersWithStatus(pod) {
		if restartsToResize(pod, c, s, podResources(pod, r.startedBy)) {
			r.events = append(r.events, podEvent{container: c.Name, reason: events.KillingContainer, message: "Container " + c.Name + " resize requires restart"})
		}
	}
}

// takeResizeEvents returns the events that are still to be recorded.
func (e *podEntry) takeResizeEvents() []podEvent {
	r := e.resize
	if r == nil {
		return nil
	}
	list := r.events
	if r.events = nil; r.deferredBy == 0 && r.startedBy == 0 {
		e.resize = nil
	}
	return list
}

// isResizing reports whether a container of a Pod runs with other resources than its spec
// asks for, or all of the Pod does, or one stops for an earlier resize.
func isResizing(pod *corev1.Pod) bool {
	if _, c := podutil.GetPodCondition(&pod.Status, corev1.PodResizeInProgress); c != nil {
		return true
	}
	for c, s := range containersWithStatus(pod) {
		if s.State.Running != nil && s.Resources != nil &&
			!(apiequality.Semantic.DeepEqual(c.Resources.Requests, s.Resources.Requests) && apiequality.Semantic.DeepEqual(c.Resources.Limits, s.Resources.Limits)) {
			return true
		}
	}
	st := corev1.PodStatus{}
	setPodResources(pod, &st)
	return st.Resources != nil && pod.Status.Resources != nil && !apiequality.Semantic.DeepEqual(st.Resources, pod.Status.Resources)
}

// containersWithStatus yields the init and main containers of a Pod.
func containersWithStatus(pod *corev1.Pod) iter.Seq2[*corev1.Container, corev1.ContainerStatus] {
	return func(yield func(*corev1.Container, corev1.ContainerStatus) bool) {
		for c, kind := range podutil.ContainerIter(&pod.Spec, podutil.InitContainers|podutil.Containers) {
			list := pod.Status.ContainerStatuses
			if kind == podutil.InitContainers {
				list = pod.Status.InitContainerStatuses
			}
			if !yield(c, containerStatusOf(list, c.Name)) {
				return
			}
		}
	}
}
