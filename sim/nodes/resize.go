package nodes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// resizeRetry is how often a resize that did not fit is tried again.
const resizeRetry = 10 * time.Second

// resize lets a pod that was taken in have what it asks for by now, or says why
// it keeps what it has.
func (l *ledger) resize(pod *corev1.Pod, e *podEntry) *rejection {
	if pod.Generation == e.share.generation {
		return nil
	}
	of, wants := l.load(e.node), shareOf(pod)
	of.remove(e.share)
	var why *rejection
	if !wants.asLargeAs(e.share) {
		why = admit(pod, l.shape.measured(l.nodes[e.node].node), of)
	}
	if why == nil {
		e.share = wants
	}
	of.add(e.share)
	return why
}

// setResize says in the pod's conditions that a resize waits, or that none does.
// To upstream's kubelet every resize that its admission refuses is deferred.
func setResize(pod *corev1.Pod, st *corev1.PodStatus, why *rejection, now time.Time) {
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
