package nodes

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// dueStage is what is to be done about an object, and when; the zero value is nothing.
type dueStage struct {
	name string // the name of one of our stages
	at   time.Time
}

func nextNodeStage(s nodeShape, node *corev1.Node, addr netip.Addr, now time.Time) dueStage {
	st, next := s.nodeStatus(node, addr, now)
	if !apiequality.Semantic.DeepEqual(st, node.Status) {
		return dueStage{nodeStatusNow, now}
	}
	return dueStage{nodeStatusLater, next}
}

// nextPodStage says what is due of a pod whose deletion is not under way yet.
func nextPodStage(pod *corev1.Pod, at placement, now time.Time) dueStage {
	if pod.DeletionTimestamp != nil {
		stop := podStopTime(pod)
		if now.Before(stop) {
			return dueStage{podDeleteLater, stop}
		}
		return dueStage{podDeleteNow, now}
	}
	st, wake := podStatus(pod, at, now)
	switch {
	case !apiequality.Semantic.DeepEqual(st, pod.Status):
		return dueStage{podStatusNow, now}
	case !wake.IsZero():
		return dueStage{podStatusLater, wake}
	}
	return dueStage{}
}

// podStopTime is when the containers of a pod that is being deleted have stopped.
func podStopTime(pod *corev1.Pod) time.Time {
	var grace time.Duration
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	asked := pod.DeletionTimestamp.Add(-grace)
	behaviour, _ := podBehaviorOf(pod)
	if isFinished(pod) {
		return asked
	}
	return asked.Add(min(behaviour.stopAfter, grace))
}
