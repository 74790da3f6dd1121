package nodes

import (
	"iter"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/klog/v2"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/kubernetes/pkg/kubelet/events"
)

// resizeReport is what has become of a resize of a Pod, as far as it was reported.
type resizeReport struct {
	generation        int64 // of the Pod
	deferred, started bool
	events            []podEvent // that are still to be recorded
}

// reportResize adds the events of a kubelet about a resize of a Pod. why is nil unless the
// resize is deferred.
func (e *podEntry) reportResize(pod *corev1.Pod, why *rejection) {
	resizing := pod.Generation > 1 && isResizing(pod)
	if e.resize == nil {
		if !resizing && why == nil {
			return
		}
		e.resize = &resizeReport{}
	}
	e.resize.report(pod, why, resizing)
}

func (r *resizeReport) report(pod *corev1.Pod, why *rejection, resizing bool) {
	log, current := klog.Background(), r.generation == pod.Generation
	switch {
	case why != nil && (!current || !r.deferred):
		r.generation, r.deferred, r.started = pod.Generation, true, false
		message := events.PodResizePendingMsg(log, pod, corev1.PodReasonDeferred, why.message, pod.Generation)
		r.events = append(r.events, podEvent{warning: true, reason: events.ResizeDeferred, message: message})
	case why != nil:
	case resizing && (!current || !r.started):
		r.generation, r.deferred, r.started = pod.Generation, false, true
		r.events = append(r.events, podEvent{reason: events.ResizeStarted, message: events.PodResizeStartedMsg(log, pod, pod.Generation)})
		r.reportRestarts(pod)
	case resizing:
	case r.started:
		r.events = append(r.events, podEvent{reason: events.ResizeCompleted, message: events.PodResizeCompletedMsg(log, pod, r.generation)})
		fallthrough
	default: // a deferred resize was taken back
		r.deferred, r.started = false, false
	}
}

// reportRestarts adds the events about the containers that restart for a resize.
func (r *resizeReport) reportRestarts(pod *corev1.Pod) {
	for c, s := range containersWithStatus(pod) {
		if restartsToResize(c, s) {
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
	if r.events = nil; !r.deferred && !r.started {
		e.resize = nil
	}
	return list
}

// isResizing reports whether a container of a Pod runs with other resources than its spec
// asks for, or all of the Pod does.
func isResizing(pod *corev1.Pod) bool {
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
