package nodes

import (
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// playedStage is the stage of a user that kwok plays for an object.
type playedStage struct {
	pod, node string // the key of the object; one of them is empty
	stage     string // the version of the Stage, as stageVersion returns it
}

// name returns the name of the Stage.
func (p playedStage) name() string {
	name, _, _ := strings.Cut(p.stage, "@")
	return name
}

// stageObserver receives what kwok logs about the stages of users. A failure that is followed by a retry is not final.
type stageObserver interface {
	stageFailed(what playedStage, err string)
	stageRetried(what playedStage, retries float64)
}

// isGone reports whether an error means that the object was deleted, or its node is not live: the stage is not to be
// played any more. Other objects that the stage needs may be missing, too.
func (p playedStage) isGone(err string) bool {
	_, name, _ := strings.Cut(p.pod, "/")
	gone := fmt.Sprintf("pods %q not found", name)
	if p.pod == "" {
		gone = fmt.Sprintf("nodes %q not found", p.node)
	}
	return strings.HasSuffix(err, gone) || isReplacedOrNotLive(err)
}

// maxRetryDelay returns the longest time until kwok tries again after a number of earlier retries (TestRetryDelay).
func maxRetryDelay(retries float64) time.Duration {
	const first, longest, jitter = time.Second, 32 * time.Minute, 1.2
	return time.Duration(jitter * min(float64(first)*math.Pow(2, retries), float64(longest)))
}

// retryNotice is how long after a failure kwok has logged that it tries again, if it does: it is the next that the same
// goroutine does. Until then the stage is awaited.
const retryNotice = playTime / 2

// stageFailed implements stageObserver.
func (s *simulation) stageFailed(what playedStage, err string) {
	failed := &givenStage{}
	s.updateStage(what, func(state *stageState) { *failed = state.fail(what.stage, s.registry.now()) })
	s.failures.Store(what, failed)
	time.AfterFunc(retryNotice, func() {
		if s.failures.CompareAndDelete(what, failed) {
			s.reportFailedStage(what, *failed, err)
		}
	})
}

// stageRetried implements stageObserver.
func (s *simulation) stageRetried(what playedStage, retries float64) {
	s.failures.Delete(what)
	at := s.registry.now().Add(maxRetryDelay(retries))
	retry := kwokRetry{isStale: true}
	s.updateStage(what, func(state *stageState) { retry = state.retry(what.stage, at) })
	// kwok logs it, then queues it, and plays it after a second at the earliest.
	time.AfterFunc(retryNotice, func() {
		if what.node != "" {
			s.nodes.endRetry(what.node, retry)
		} else {
			s.pods.endRetry(what.pod, s.knownPod(what.pod), retry)
		}
	})
}

// reportFailedStage records an event about the object for which a stage of a user has failed finally. client-go bounds
// how many events an object has.
func (s *simulation) reportFailedStage(what playedStage, failed givenStage, err string) {
	if s.ctx.Err() != nil {
		return
	}
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: what.node, UID: types.UID(what.node)} // as a kubelet
	if what.pod != "" {
		pod := s.knownPod(what.pod)
		if pod == nil {
			return // it has been deleted
		}
		about = eventObject(pod, "")
	}
	s.recorder.Event(about, corev1.EventTypeWarning, "StageFailed", "stage "+what.name()+": "+err)
	s.updateStage(what, func(state *stageState) { state.end(failed) })
}

// updateStage changes what is known of what is played for an object, if the object still exists.
func (s *simulation) updateStage(what playedStage, change func(*stageState)) {
	if what.node != "" {
		s.registry.changeNodeStage(what.node, change)
	} else if pod := s.knownPod(what.pod); pod != nil {
		s.registry.changePodStage(pod.UID, change)
	}
}

// knownPod returns the Pod with a key; nil if the informer does not have it.
func (s *simulation) knownPod(key string) *corev1.Pod {
	obj, _, _ := s.podStore.GetByKey(key) // it does not fail
	pod, _ := obj.(*corev1.Pod)
	return pod
}
