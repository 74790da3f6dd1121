package health

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
)

// Examine returns the state of an object, whose kind is as kubectl names it. The message of one
// that is not healthy is the reason, as WhyOf says it, but that of a Pod and a Job does not say which of its own programs
// are not simulated.
func (w *Waiter) Examine(ctx context.Context, kind, namespace, name string) (State, error) {
	ctx = requestlog.Discard(ctx)
	m, err := kinds.NewMapper(w.kinds).Find(ctx, kind)
	if err != nil {
		return State{}, fmt.Errorf("health: %s: %w", kind, err)
	}
	r := refOf(m, namespace, name)
	u, err := w.read(ctx, m, r)
	if err != nil {
		return State{}, err
	}
	if u == nil {
		return State{Ref: r, Status: NotFound, Message: "does not exist"}, nil
	}
	return w.examineObject(ctx, u, true)
}

func refOf(m *meta.RESTMapping, namespace, name string) Ref {
	if m.Scope.Name() == meta.RESTScopeNameRoot {
		namespace = ""
	}
	return Ref{m.GroupVersionKind, namespace, name}
}

// read returns an object, nil if it does not exist.
func (w *Waiter) read(ctx context.Context, m *meta.RESTMapping, r Ref) (*unstructured.Unstructured, error) {
	u, err := w.objects.Resource(m.Resource).Namespace(r.Namespace).Get(ctx, r.Name, metav1.GetOptions{}) // "" = without
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("health: %s: %w", r, err)
	}
	return u, nil
}

// examineObject is like Examine.
func (w *Waiter) examineObject(ctx context.Context, u *unstructured.Unstructured, skipPrograms bool) (State, error) {
	s := StateOf(u)
	s.Suspended, s.Deletion, s.Owner = suspendingField(u), deletionOf(u), controllerOf(u)
	if awaitsStatus(u) {
		resource, err := w.StatusResource(ctx, s.Ref.GroupVersionKind)
		if err != nil && s.Status == Current { // else the reason is worth more
			return State{}, fmt.Errorf("health: %s: %w", s.Ref, err)
		}
		s.addMissingStatus(u, resource)
	}
	if s.Status != Current {
		isRun := s.Ref.GroupKind() == podKind || s.Ref.GroupKind() == jobKind
		search := w.newSearch(ctx, searchOptions{skipPrograms: skipPrograms && isRun}, nil)
		found := search.explainState(&trackedObject{State: s, object: u}, false)
		found.noteExpiry(u, true)
		s = found.State
		s.Message = found.Reason
		return s, nil
	}
	s.Node = nodeOf(u)
	search := w.newSearch(ctx, searchOptions{}, nil)
	if err := s.addRuleDoubt(search, u); err != nil {
		return State{}, fmt.Errorf("health: %s: %w", s.Ref, err)
	}
	return s, nil
}
