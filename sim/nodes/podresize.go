package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resizeRetryInterval is how often a resize that did not fit is tried again.
const resizeRetryInterval = 10 * time.Second

// resizePod lets a pod that was taken in have what it asks for by now, or says why
// it keeps what it has.
func (l *podRegistry) resizePod(pod *corev1.Pod, e *podEntry) *rejection {
	if pod.Generation == e.load.generation {
		return nil
	}
	of, wants := l.loadOf(e.node), podLoadOf(pod)
	of.remove(e.load)
	var why *rejection
	if !wants.sameRequests(e.load) {
		why = checkAdmission(pod, l.shape.withAllocatable(l.nodes[e.node].node), of)
	}
	if why == nil {
		e.load = wants
	}
	of.add(e.load)
	return why
}

// setResizeCondition says in the pod's conditions that a resize waits, or that none does.
// To upstream's kubelet every resize that its admission refuses is deferred.
func setResizeCondition(pod *corev1.Pod, st *corev1.PodStatus, why *rejection, now time.Time) {
	i := slices.IndexFunc(st.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodResizePending })
	switch {
	case why == nil && i >= 0:
		st.Conditions = slices.Delete(st.Conditions, i, i+1)
	case why == nil:
	case i < 0:
		st.Conditions = append(st.Conditions, corev1.PodCondition{
			Type: corev1.PodResizePending, Status: corev1.ConditionTrue, Reason: corev1.PodReasonDeferred, Message: why.message,
			ObservedGeneration: pod.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	default:
		st.Conditions[i].Message, st.Conditions[i].ObservedGeneration = why.message, pod.Generation
	}
}
