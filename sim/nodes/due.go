package nodes

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// due is what is to be done about an object, and when; the zero value is nothing.
type due struct {
	stage string // the name of one of our stages
	at    time.Time
}

func nodeDue(s shape, node *corev1.Node, addr netip.Addr, now time.Time) due {
	st, next := s.nodeStatus(node, addr, now)
	if !apiequality.Semantic.DeepEqual(st, node.Status) {
		return due{nodeStatusNow, now}
	}
	return due{nodeStatusLater, next}
}

// podDue says what is due of a pod whose deletion is not under way yet.
func podDue(pod *corev1.Pod, at place, now time.Time) due {
	if pod.DeletionTimestamp != nil {
		stop := stopTime(pod)
		if now.Before(stop) {
			return due{podDeleteLater, stop}
		}
		return due{podDeleteNow, now}
	}
	st, wake := podStatus(pod, at, now)
	switch {
	case !apiequality.Semantic.DeepEqual(st, pod.Status):
		return due{podStatusNow, now}
	case !wake.IsZero():
		return due{podStatusLater, wake}
	}
	return due{}
}

// stopTime is when the containers of a pod that is being deleted have stopped.
func stopTime(pod *corev1.Pod) time.Time {
	var grace time.Duration
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	asked := pod.DeletionTimestamp.Add(-grace)
	behaviour, _ := behaviourOf(pod)
	if finished(pod) {
		return asked
	}
	return asked.Add(min(behaviour.stopAfter, grace))
}
