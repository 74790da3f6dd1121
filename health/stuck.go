package health

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// FindStuck returns the Namespaces that are being deleted, the Deployments whose rollout has exceeded its deadline, the
// APIServices that are not available, those of other objects that are not healthy, and those of deleted objects that wait for
// their finalizers, with the reasons.
func (w *Waiter) FindStuck(ctx context.Context, others, deleted []observe.Object) (found []Stuck, err error) {
	ctx = requestlog.Discard(ctx)
	known := kinds.NewMapper(w.kinds)
	for _, find := range []func() ([]Stuck, error){
		func() ([]Stuck, error) { return w.findStuckKinds(ctx) },
		func() ([]Stuck, error) { return w.findUnhealthy(ctx, known, others) },
		func() ([]Stuck, error) { return w.findFinalizing(ctx, known, deleted) },
	} {
		list, err := find()
		found = append(found, list...)
		if err != nil {
			return found, err
		}
	}
	return found, ctx.Err()
}

func (w *Waiter) findStuckKinds(ctx context.Context) (found []Stuck, err error) {
	lists := newSharedLists()
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
			if s.Reason = s.Message; len(found) < maxExplained {
				s.Reason = w.why(ctx, u, lists)
			}
			found = append(found, s)
		}
	}
	return found, nil
}

// findUnhealthy returns those of some objects that are not healthy, or that lack what they need.
func (w *Waiter) findUnhealthy(ctx context.Context, known kinds.Mapper, others []observe.Object) (found []Stuck, err error) {
	for _, o := range others {
		kind := o.Kind
		if o.Resource != "" {
			kind = o.GroupResource()
		}
		if _, err := known.Find(ctx, kind); meta.IsNoMatchError(err) { // its kind is gone, too
			continue
		}
		s, err := w.examine(ctx, known, kind, o.Namespace, o.Name, false)
		if err != nil {
			return found, err
		}
		switch isKnown := slices.ContainsFunc(found, func(f Stuck) bool { return f.Ref == s.Ref }); {
		case isKnown:
		case s.Doubt != "": // as of a Pod whose node does not exist
			found = append(found, Stuck{Unhealthy: Unhealthy{State: s, Reason: s.Doubt}})
		case s.Status != Current && s.Status != NotFound: // otherwise it has changed since it was found
			found = append(found, Stuck{Unhealthy: Unhealthy{State: s, Reason: s.Message}})
		}
	}
	return found, nil
}

// findFinalizing returns those of some deleted objects that wait for their finalizers, or that cannot be read, as while their
// conversion webhook does not run.
func (w *Waiter) findFinalizing(ctx context.Context, known kinds.Mapper, deleted []observe.Object) (found []Stuck, err error) {
	for _, o := range deleted {
		m, err := known.Find(ctx, o.GroupResource())
		if meta.IsNoMatchError(err) { // its kind is gone, too
			continue
		}
		if err != nil {
			return found, fmt.Errorf("health: %s: %w", o.GroupResource(), err)
		}
		switch s, err := w.examine(ctx, known, o.GroupResource(), o.Namespace, o.Name, false); {
		case ctx.Err() != nil:
			return found, ctx.Err()
		case err != nil:
			ref := Ref{m.GroupVersionKind, o.Namespace, o.Name}
			found = append(found, Stuck{Unhealthy: Unhealthy{State: State{Ref: ref, Status: Unknown}, Reason: "was to be deleted, and cannot be read: " + plainError(cmp.Or(errors.Unwrap(err), err))}})
		case s.Deletion != nil && len(s.Deletion.Finalizers) > 0:
			found = append(found, Stuck{Unhealthy: Unhealthy{State: s, Reason: s.Message}, Since: s.Deletion.Requested})
		}
	}
	return found, nil
}
