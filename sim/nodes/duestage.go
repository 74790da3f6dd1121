package nodes

import (
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
)

// What is due for an object, besides the stages of users. A stage with "later" is due
// at a time, the others now.
const (
	nodeStatusNow   = "node-status"
	nodeStatusLater = "node-status-later"
	podStatusNow    = "pod-status"
	podStatusLater  = "pod-status-later"
	podDeleteNow    = "pod-delete"
	podDeleteLater  = "pod-delete-later"
)

// dueStage is the stage that is due for an object, and when. The zero value is none.
type dueStage struct {
	name string // a constant above, or userPrefix and the name of a Stage
	at   time.Time
}

// deletes reports whether the object is to be deleted.
func (s dueStage) deletes() bool { return s.name == podDeleteNow || s.name == podDeleteLater }

// isOfUser reports whether kwok plays the stage.
func (s dueStage) isOfUser() bool { return strings.HasPrefix(s.name, userPrefix) }

func nextNodeStage(s nodeShape, node *corev1.Node, addr netip.Addr, now time.Time) dueStage {
	st, next := s.nodeStatus(node, addr, now)
	if !apiequality.Semantic.DeepEqual(st, node.Status) {
		return dueStage{nodeStatusNow, now}
	}
	return dueStage{nodeStatusLater, next}
}

// nextPodStage returns what is due for a Pod.
func nextPodStage(pod *corev1.Pod, at placement, now time.Time) dueStage {
	if pod.DeletionTimestamp != nil {
		stop := podStopTime(pod)
		if commands := at.commands; commands.mayStart && !isFinished(pod) && !commands.runtime.StopPod(pod, pod.DeletionTimestamp.Time) {
			stop = latest(stop, pod.DeletionTimestamp.Add(stopSlack))
		}
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

// stopSlack is how long after its grace period a Pod is deleted whose commands do not
// end. They end at once, and the Pod is deleted then.
const stopSlack = 5 * time.Second

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// podStopTime returns when the containers of a Pod that is being deleted have
// stopped.
func podStopTime(pod *corev1.Pod) time.Time {
	var grace time.Duration
	if s := pod.DeletionGracePeriodSeconds; s != nil {
		grace = time.Duration(*s) * time.Second
	}
	asked := pod.DeletionTimestamp.Add(-grace)
	behavior, _ := podBehaviorOf(pod)
	if isFinished(pod) {
		return asked
	}
	return asked.Add(min(behavior.stopAfter, grace))
}
