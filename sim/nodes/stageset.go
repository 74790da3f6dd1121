package nodes

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// userPrefix separates the names of users' stages from those of built-in stages.
const userPrefix = "user/"

// stageSet is the set of the Stage objects of users. It matches them one by one: a stage that cannot be evaluated affects
// no other.
type stageSet struct {
	// ignored receives why a Stage that is set is ignored from now on. It must not block.
	ignored func(stage *corev1.ObjectReference, why error)

	mu    sync.Mutex
	users map[string]*userStage
}

type userStage struct {
	object   *corev1.ObjectReference
	endless  bool // it is ignored until it changes
	ref      internalversion.StageResourceRef
	compiled *lifecycle.Stage
}

// drawnStage is a stage of a user that is to be played for an object after a delay that was drawn.
type drawnStage struct {
	stage *userStage
	delay stageDelay
}

func newStageSet(ignored func(stage *corev1.ObjectReference, why error)) *stageSet {
	return &stageSet{ignored: ignored, users: map[string]*userStage{}}
}

// set adds or replaces a Stage, and reports whether the set has changed. An invalid one is removed, and the error says
// why.
func (s *stageSet) set(object *v1alpha1.Stage) (changed bool, err error) {
	stage, err := compileStage(object)
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.users[object.Name]
	switch {
	case was != nil && isSameVersion(was.object, object), was == nil && err != nil:
		return false, err
	case err != nil:
		delete(s.users, object.Name)
	default:
		s.users[object.Name] = stage
	}
	return true, err
}

func isSameVersion(was *corev1.ObjectReference, object *v1alpha1.Stage) bool {
	return was.UID == object.UID && was.ResourceVersion == object.ResourceVersion
}

func (s *stageSet) remove(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.users, name)
}

// has reports whether a version of a Stage is in force.
func (s *stageSet) has(stage *userStage) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hasLocked(stage)
}

func (s *stageSet) hasLocked(stage *userStage) bool {
	return s.users[stage.object.Name] == stage && !stage.endless
}

func (s *stageSet) names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.users))
}

// match returns the stage of a user that is to be played for an object, if any: the current one, at the same time, if
// it still matches and its delay has not changed.
func (s *stageSet) match(ctx context.Context, ref internalversion.StageResourceRef, meta *metav1.ObjectMeta, object any, now time.Time, current dueStage) (dueStage, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.users) == 0 {
		return dueStage{}, false
	}
	event := &lifecycle.Event{Labels: meta.Labels, Annotations: meta.Annotations, Data: object}
	var found lifecycle.Lifecycle
	for name, stage := range s.users {
		if stage.ref != ref || stage.endless {
			continue
		}
		matched, ended := stage.evaluate(ctx, event, now)
		if matched {
			found = append(found, stage.compiled)
		}
		if !ended {
			stage.endless = true
			s.ignored(stage.object, fmt.Errorf("stage %s is ignored until it changes: for %s %s its expressions take more than %d steps",
				name, ref.Kind, cache.ObjectName{Namespace: meta.Namespace, Name: meta.Name}, maxStageSteps))
		}
	}
	chosen := s.choose(ctx, event, withoutInvalidWeights(ctx, event, found), current)
	if chosen == nil {
		return dueStage{}, false
	}
	drawn := &drawnStage{chosen, newStageDelay(ctx, chosen.compiled, event, now)}
	if current.user != nil && current.user.stage == chosen && current.user.delay.isSame(drawn.delay) {
		return current, true
	}
	return dueStage{name: userPrefix + chosen.object.Name, at: drawn.delay.draw(), user: drawn}, true
}

// choose returns the current stage if it is one of those from which kwok would draw, and otherwise draws one; nil if
// none can be drawn. It needs the lock.
func (s *stageSet) choose(ctx context.Context, event *lifecycle.Event, found lifecycle.Lifecycle, current dueStage) *userStage {
	if current.user != nil && s.hasLocked(current.user.stage) {
		if possible, err := found.ListAllPossible(ctx, event); err == nil && slices.Contains(possible, current.user.stage.compiled) {
			return current.user.stage
		}
	}
	if drawn, err := found.Match(ctx, event); err == nil && drawn != nil {
		return s.users[drawn.Name()]
	}
	return nil
}

// withoutInvalidWeights leaves out, of several stages, those with a weight that kwok cannot draw with: it
// ends the process if the sum is negative, and an expression of the user may return any number.
func withoutInvalidWeights(ctx context.Context, event *lifecycle.Event, list lifecycle.Lifecycle) lifecycle.Lifecycle {
	if len(list) < 2 {
		return list
	}
	most := math.MaxInt64 / int64(len(list))
	return slices.DeleteFunc(list, func(s *lifecycle.Stage) bool {
		weight, _, err := s.Weight(ctx, event)
		return err != nil || weight < 0 || weight > most
	})
}

func compileStage(object *v1alpha1.Stage) (*userStage, error) {
	stage, err := internalversion.ConvertToInternalStage(object)
	if err != nil {
		return nil, fmt.Errorf("stage %s: %w", object.Name, err)
	}
	var zero any
	switch ref := stage.Spec.ResourceRef; ref {
	case podRef:
		zero = &corev1.Pod{}
	case nodeRef:
		zero = &corev1.Node{}
	default:
		return nil, fmt.Errorf("stage %s is of %s %s: only stages of v1 Pod and v1 Node are played", object.Name, ref.APIGroup, ref.Kind)
	}
	if stage.Spec.Selector == nil {
		return nil, fmt.Errorf("stage %s has no selector: it would never be played", object.Name)
	}
	if stage.Spec.Delay != nil {
		stage.Spec.Delay = boundDelay(stage.Spec.Delay)
	}
	// kwok compiles expressions at the first match. This match compiles them; the
	// label, which no object has, keeps it from evaluating them.
	trial := *stage
	selector := *stage.Spec.Selector
	selector.MatchLabels = map[string]string{"ctrlplane.local/no-such-label": ""}
	trial.Spec.Selector = &selector
	if _, err := (lifecycle.Lifecycle{lifecycle.NewStage(&trial)}).Match(context.Background(), &lifecycle.Event{Data: zero}); err != nil {
		return nil, fmt.Errorf("stage %s: %w", object.Name, err)
	}
	return &userStage{object: stageReference(object), ref: stage.Spec.ResourceRef, compiled: lifecycle.NewStage(stage)}, nil
}
