package nodes

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/observe"
)

// stageState is what is played for an object.
type stageState struct {
	play dueStage  // what the player is to do; zero if nothing
	run  *stageRun // of the stage of a user that was due last; nil if it has failed finally, or another is due
}

// stageRun is the stage of a user that is played for a version of an object. It is replaced when another stage
// becomes due: an attempt that has begun is not interrupted, but not repeated either.
type stageRun struct {
	dueStage        // with the time of the last attempt, or of the next one
	version  string // of the object
	isOver   bool   // it has been played

	// What only the worker that plays it uses.
	object  metav1.Object // *corev1.Pod or *corev1.Node; nil if it is over
	writes  *playedKind   // records what is written for it
	cause   *observe.QueuedKey
	step    int // the first one that is to be done
	retries int
}

// kind returns the kind of the object, and the name of its resource.
func (r *stageRun) kind() (kind, resource string) {
	if _, ok := r.object.(*corev1.Node); ok {
		return "Node", "nodes"
	}
	return "Pod", "pods"
}

// reference returns what an event about the object is about.
func (r *stageRun) reference() *corev1.ObjectReference {
	kind, _ := r.kind()
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: kind, Namespace: r.object.GetNamespace(), Name: r.object.GetName(),
		UID: r.object.GetUID(), ResourceVersion: r.version,
	}
}

// current returns the stage of a user that is due for a version of the object, or that is or was played for it.
func (s *stageState) current(version string) dueStage {
	if s.play.user == nil && s.run != nil && s.run.version == version {
		return s.run.dueStage
	}
	return s.play
}

// assign stores what is due for a version of an object, and returns what the player is to do. isInForce reports whether
// a stage still exists.
func (s *stageState) assign(what dueStage, version string, isInForce func(*userStage) bool) dueStage {
	switch run := s.run; {
	case run == nil:
	case what.user != nil && what.user.stage == run.user.stage && run.version == version:
		what = dueStage{} // it is played only once for a version
	case what.user == nil && isInForce(run.user.stage):
		// A step of the stage may have changed the object, and another may be tried again, also beside the default.
	default:
		s.run = nil
	}
	s.play = what
	return what
}

// take begins to play the stage of a user for an object if one is due; otherwise it returns nil. If the stage does not
// exist in this version any more, the object is about to be processed again.
func (s *stageState) take(object metav1.Object, writes *playedKind, now time.Time, isInForce func(*userStage) bool) *stageRun {
	if s.play.user == nil || now.Before(s.play.at) || !isInForce(s.play.user.stage) {
		return nil
	}
	cause := writes.newest(cache.MetaObjectToName(object).String())
	s.run = &stageRun{dueStage: s.play, version: object.GetResourceVersion(), object: object, writes: writes, cause: cause}
	s.run.at = now
	s.play = dueStage{}
	return s.run
}

// stageState returns what is played for an object; nil if the object was deleted. It needs the lock.
func (r *podRegistry) stageState(of metav1.Object) *stageState {
	switch o := of.(type) {
	case *corev1.Pod:
		if e := r.pods[o.UID]; e != nil {
			return &e.stageState
		}
	case *corev1.Node:
		if e := r.nodes[o.Name]; e != nil {
			return &e.stageState
		}
	}
	return nil
}

// isCurrent reports whether a run is to be continued: not if another stage has become due, the object was deleted, or its
// node has failed.
func (r *podRegistry) isCurrent(run *stageRun) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isCurrentLocked(run)
}

func (r *podRegistry) isCurrentLocked(run *stageRun) bool {
	state := r.stageState(run.object)
	return state != nil && state.run == run
}

// postponeRun notes when a run is continued. It reports false if it is not.
func (r *podRegistry) postponeRun(run *stageRun, at time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	run.at = at
	return r.isCurrentLocked(run)
}

// endRun notes that a stage has been played, or has failed finally: then it is played again when it is found to be due
// for the same version. It reports whether the object exists.
func (r *podRegistry) endRun(run *stageRun, failed bool) (exists bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.stageState(run.object)
	if run.isOver = true; failed && state != nil && state.run == run {
		state.run = nil
	}
	run.object = nil // the registry keeps no objects for which nothing is due
	return state != nil
}
