package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Stuck is an object that waits for something that need not come by itself.
type Stuck struct {
	Unhealthy
	Since time.Time // when its deletion was requested, or since when it is not available; zero for others
}

// stuckKinds are the kinds that FindStuck examines, and the status of those that it returns.
var stuckKinds = []struct {
	resource      schema.GroupVersionResource
	fieldSelector string
	status        Status
}{
	{coreResource("namespaces"), "status.phase=Terminating", Terminating},
	{appsv1.SchemeGroupVersion.WithResource("deployments"), "", Failed},
	{apiServices, "", InProgress},
}

// Candidates are objects that may be stuck.
type Candidates struct {
	Unhealthy  []observe.Object // stuck if they are not healthy
	Dependents []observe.Object // stuck if the kind of an owner is not served
	Deleted    []observe.Object // stuck if they wait for their finalizers
	Warned     []observe.Object // custom resources: stuck if they are healthy, but doubtful
}

// FindStuck returns the Namespaces that are being deleted, the Deployments whose rollout has exceeded its deadline, the
// APIServices that are not available, and those of the candidates that are stuck, or that cannot be read, each once, with the reasons.
func (w *Waiter) FindStuck(ctx context.Context, of Candidates) (found []Stuck, err error) {
	ctx = requestlog.Discard(ctx)
	began := time.Now()
	known, places := kinds.NewMapper(w.kinds), map[Ref]int{} // in found
	add := func(list []Stuck) {
		for _, s := range list {
			object := s.Ref
			object.Version = ""
			if at, isKnown := places[object]; isKnown {
				found[at] = moreComplete(found[at], s)
				continue
			}
			places[object] = len(found)
			found = append(found, s)
		}
	}
	for _, find := range []func() ([]Stuck, error){
		func() ([]Stuck, error) { return w.findStuckKinds(ctx) },
		func() ([]Stuck, error) { return w.findUnhealthy(ctx, known, of.Unhealthy) },
		func() ([]Stuck, error) { return w.findDependents(ctx, known, of.Dependents) },
		func() ([]Stuck, error) { return w.findFinalizing(ctx, known, of.Deleted) },
	} {
		list, err := find()
		add(list)
		if err != nil {
			return found, err
		}
	}
	if ctx.Err() == nil && time.Since(began) < maxDoubtTime { // the caller does not wait for long
		add(w.findDoubtful(ctx, known, of.Warned))
		return found, nil
	}
	return found, ctx.Err()
}

// moreComplete returns which of two entries for an object says since when, or more.
func moreComplete(a, b Stuck) Stuck {
	a.Owner, b.Owner = cmp.Or(a.Owner, b.Owner), cmp.Or(b.Owner, a.Owner)
	if a.Since.IsZero() != b.Since.IsZero() {
		if a.Since.IsZero() {
			return b
		}
		return a
	}
	if len(b.Reason) > len(a.Reason) {
		return b
	}
	return a
}

func (w *Waiter) findStuckKinds(ctx context.Context) (found []Stuck, err error) {
	options, cache := searchOptions{naming: &namingLimit{maxNamed, time.Now().Add(maxNaming)}}, newSearchCache()
	explained := 0
	for _, kind := range stuckKinds {
		list, err := w.objects.Resource(kind.resource).List(ctx, metav1.ListOptions{FieldSelector: kind.fieldSelector, Limit: maxListed})
		if err != nil {
			return found, fmt.Errorf("list %s: %w", kind.resource.Resource, err)
		}
		for i := range list.Items {
			u := &list.Items[i]
			s := Stuck{Unhealthy: Unhealthy{State: StateOf(u)}}
			if s.Status != kind.status {
				continue
			}
			if at := u.GetDeletionTimestamp(); at != nil {
				s.Since = at.Time
			}
			if kind.resource == apiServices {
				if c, _ := findCondition(u, "Available"); c.Status != metav1.ConditionFalse { // it was not checked yet
					continue
				}
				s.Since = conditionTime(u, s.Message)
			}
			if kind.status != Terminating { // what a Namespace waits for is in its conditions
				explained++
			}
			if s.Reason = s.Message; explained <= maxExplained {
				s.Reason = w.newSearch(ctx, options, cache).why(u)
			}
			found = append(found, s)
		}
	}
	return found, nil
}

// findUnhealthy returns those of some objects that are not healthy, or of which that is doubtful.
func (w *Waiter) findUnhealthy(ctx context.Context, known kinds.Mapper, others []observe.Object) (found []Stuck, err error) {
	err = w.examineEach(ctx, known, others, nil, func(s State, _ bool) {
		if s.Doubt != "" || s.Status != Current { // otherwise it has changed since it was found
			found = append(found, Stuck{Unhealthy: Unhealthy{State: s, Reason: cmp.Or(s.Doubt, s.Message)}})
		}
	})
	return found, err
}

// findDependents returns those of some objects that have an owner whose kind is not served, or that cannot be read.
func (w *Waiter) findDependents(ctx context.Context, known kinds.Mapper, dependents []observe.Object) (found []Stuck, err error) {
	search := w.newSearch(ctx, searchOptions{}, newSearchCache())
	hasOne := func(u *unstructured.Unstructured) bool { return search.explainUnservedOwner(u) != "" }
	err = w.examineEach(ctx, known, dependents, hasOne, func(s State, _ bool) {
		found = append(found, Stuck{Unhealthy: Unhealthy{State: s, Reason: cmp.Or(s.Doubt, s.Message)}})
	})
	return found, err
}

// findFinalizing returns those of some deleted objects that wait for their finalizers, or that cannot be read.
func (w *Waiter) findFinalizing(ctx context.Context, known kinds.Mapper, deleted []observe.Object) (found []Stuck, err error) {
	err = w.examineEach(ctx, known, deleted, nil, func(s State, isRead bool) {
		switch {
		case !isRead:
			found = append(found, Stuck{Unhealthy: Unhealthy{State: s, Reason: "was to be deleted, and " + s.Message}})
		case s.Deletion != nil && len(s.Deletion.Finalizers) > 0:
			found = append(found, Stuck{Unhealthy: Unhealthy{State: s, Reason: s.Message}, Since: s.Deletion.Requested})
		}
	})
	return found, err
}

// maxDoubtTime bounds how long findDoubtful takes.
const maxDoubtTime = 2 * time.Second

// findDoubtful returns those of some custom resources, of which only the kind is known, that are healthy to Wait, but doubtful. It leaves
// out what cannot be read, or not in time.
func (w *Waiter) findDoubtful(ctx context.Context, known kinds.Mapper, objects []observe.Object) (found []Stuck) {
	ctx, cancel := context.WithTimeout(ctx, maxDoubtTime)
	defer cancel()
	cache := newSearchCache()
	for _, o := range objects {
		m, err := known.Find(ctx, o.Kind+"."+o.Group)
		if err != nil {
			continue
		}
		u, err := w.read(ctx, m, refOf(m, o.Namespace, o.Name))
		if err != nil || u == nil {
			continue
		}
		s := StateOf(u)
		s.Owner = controllerOf(u)
		if err := s.addRuleDoubt(w.newSearch(ctx, searchOptions{}, cache), u); err == nil && s.Doubt != "" {
			found = append(found, Stuck{Unhealthy: Unhealthy{State: s, Reason: s.Doubt}})
		}
	}
	return found
}

// examineEach passes on the state of each of some objects that exist and are selected; nil selects all. That of one that cannot be
// read, as while its conversion webhook does not run, is Unknown: the others are examined all the same.
func (w *Waiter) examineEach(ctx context.Context, known kinds.Mapper, objects []observe.Object, selects func(*unstructured.Unstructured) bool, pass func(s State, isRead bool)) error {
	for _, o := range objects {
		kind := o.Kind
		if o.Resource != "" {
			kind = o.GroupResource()
		}
		m, err := known.Find(ctx, kind)
		if meta.IsNoMatchError(err) { // its kind is gone, too
			continue
		}
		if err != nil {
			return fmt.Errorf("health: %s: %w", kind, err)
		}
		s := State{Ref: refOf(m, o.Namespace, o.Name)}
		u, err := w.read(ctx, m, s.Ref)
		if err == nil && (u == nil || selects != nil && !selects(u)) {
			continue
		}
		if err == nil {
			s, err = w.examineObject(ctx, u, false)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			s = State{Ref: refOf(m, o.Namespace, o.Name), Status: Unknown, Message: "cannot be read: " + plainError(cmp.Or(errors.Unwrap(err), err))}
		}
		pass(s, err == nil)
	}
	return nil
}
