package health

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
)

// Examine returns the state of an object, whose kind is as kubectl names it. The message of one
// that is not healthy is the reason, as Why returns it, but that of a Pod and a Job does not say which of its own programs
// are not simulated.
func (w *Waiter) Examine(ctx context.Context, kind, namespace, name string) (State, error) {
	return w.examine(requestlog.Discard(ctx), kinds.NewMapper(w.kinds), kind, namespace, name, true)
}

// examine is like Examine, for one of several objects, which share what is known of kinds.
func (w *Waiter) examine(ctx context.Context, known kinds.Mapper, kind, namespace, name string, skipPrograms bool) (State, error) {
	m, err := known.Find(ctx, kind)
	if err != nil {
		return State{}, fmt.Errorf("health: %s: %w", kind, err)
	}
	s := State{Ref: Ref{m.GroupVersionKind, namespace, name}, Status: NotFound, Message: "does not exist"}
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		s.Ref.Namespace = ""
	}
	u, err := w.objects.Resource(m.Resource).Namespace(s.Ref.Namespace).Get(ctx, name, metav1.GetOptions{}) // "" = without
	switch {
	case apierrors.IsNotFound(err):
		return s, nil
	case err != nil:
		return State{}, fmt.Errorf("health: %s: %w", s.Ref, err)
	}
	s = StateOf(u)
	s.Suspended, s.Deletion, s.Owner = suspendingField(u), deletionOf(u), controllerOf(u)
	if awaitsStatus(u) {
		resource, err := w.StatusResource(ctx, s.Ref.GroupVersionKind)
		if err != nil && s.Status == Current { // else the reason is worth more
			return State{}, fmt.Errorf("health: %s: %w", s.Ref, err)
		}
		s.addMissingStatus(u, resource)
	}
	if s.Status != Current {
		lists := newListsOfOne()
		lists.skipPrograms = skipPrograms && (s.Ref.GroupKind() == podKind || s.Ref.GroupKind() == jobKind)
		found := w.explainState(ctx, &trackedObject{State: s, object: u}, false, lists)
		found.noteExpiry(u, true)
		s = found.State
		s.Message = found.Reason
		return s, nil
	}
	s.Node = nodeOf(u)
	search := &reasonSearch{ctx: ctx, kinds: w.kinds, objects: w.objects, lists: newListsOfOne()}
	if err := s.addNeeds(search, u); err != nil {
		return State{}, fmt.Errorf("health: %s: %w", s.Ref, err)
	}
	return s, nil
}
