package nodes

import (
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
	"k8s.io/utils/ptr"

	"github.com/ctrlplane/ctrlplane/sim/container"
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
	user *drawnStage // nil if it is a constant above
}

// deletes reports whether the object is to be deleted.
func (s dueStage) deletes() bool { return s.name == podDeleteNow || s.name == podDeleteLater }

func nextNodeStage(s nodeShape, node *corev1.Node, addr netip.Addr, now time.Time) dueStage {
	st, next := s.nodeStatus(node, addr, now)
	if !apiequality.Semantic.DeepEqual(st, node.Status) {
		return dueStage{name: nodeStatusNow, at: now}
	}
	return dueStage{name: nodeStatusLater, at: next}
}

// nextPodStage returns what is due for a Pod.
func nextPodStage(pod *corev1.Pod, at placement, now time.Time) dueStage {
	var stop time.Time
	if pod.DeletionTimestamp != nil {
		if stop = stopPod(pod, at.commands, now); !now.Before(stop) {
			return dueStage{name: podDeleteNow, at: now}
		}
	}
	st, wake := podStatus(pod, at, now)
	switch {
	case !apiequality.Semantic.DeepEqual(st, pod.Status):
		return dueStage{name: podStatusNow, at: now}
	case !stop.IsZero():
		return dueStage{name: podDeleteLater, at: stop}
	case !wake.IsZero():
		return dueStage{name: podStatusLater, at: wake}
	}
	return dueStage{}
}

// stopPod stops the commands of a Pod that is being deleted. It returns when the Pod is to be
// deleted at the latest. As with a kubelet, the grace period begins when the deletion is
// seen: its timestamp has whole seconds.
func stopPod(pod *corev1.Pod, commands commandRunner, now time.Time) time.Time {
	stop := podStopTime(pod)
	if !commands.mayStart || podutil.IsPodTerminal(pod) {
		return stop
	}
	if until := commands.runtime.StopPod(pod, now.Add(deletionGracePeriod(pod))); !until.IsZero() {
		return latest(stop, until.Add(stopSlack))
	}
	return stop
}

// stopSlack is how long after its grace period a Pod is deleted whose commands do not
// end. They end sooner, and the Pod is deleted then.
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
	// The API server has added the grace period in the same way, also one that overflows.
	asked := pod.DeletionTimestamp.Add(-time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second)
	behavior, _ := podBehaviorOf(pod)
	if podutil.IsPodTerminal(pod) {
		return asked
	}
	return asked.Add(min(behavior.stopAfter, deletionGracePeriod(pod)))
}

func deletionGracePeriod(pod *corev1.Pod) time.Duration {
	return container.Seconds(ptr.Deref(pod.DeletionGracePeriodSeconds, 0))
}
