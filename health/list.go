package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
)

const (
	// maxListed bounds how many objects List returns, maxExplained of how many it looks
	// for the reason.
	maxListed    = 2000
	maxExplained = 20
)

// Listed is an object with its state. The message of one that is not healthy is the
// reason, as Why returns it.
type Listed struct {
	State
	Created time.Time
	UID     string
}

// Listing are the objects of one kind: those first that are not healthy.
type Listing struct {
	Resource schema.GroupVersionResource
	Kind     string
	Items    []Listed
	More     bool // there are more objects than were listed
}

// List returns the objects of a kind, as kubectl names it, of all namespaces.
func (w *Waiter) List(ctx context.Context, kind string) (Listing, error) {
	ctx = requestlog.Discard(ctx)
	mapper := kinds.NewMapper(w.kinds)
	m, err := mapper.Find(ctx, kind)
	if err != nil {
		return Listing{}, fmt.Errorf("unknown kind %q: %s", kind, mapper.Hint(ctx, kind, "use a name that kubectl accepts, such as pods or deploy"))
	}
	list, err := w.objects.Resource(m.Resource).List(ctx, metav1.ListOptions{Limit: maxListed})
	if err != nil {
		return Listing{}, fmt.Errorf("list %s: %w", m.Resource.Resource, err)
	}
	l := Listing{Resource: m.Resource, Kind: m.GroupVersionKind.Kind, More: list.GetContinue() != ""}
	explained, lists := 0, sharedLists{}
	for i := range list.Items {
		u := &list.Items[i]
		s := StateOf(u)
		if s.Status != Current && explained < maxExplained {
			explained++
			s.Message = w.why(ctx, u, lists)
		}
		l.Items = append(l.Items, Listed{s, u.GetCreationTimestamp().Time, string(u.GetUID())})
	}
	slices.SortStableFunc(l.Items, func(a, b Listed) int {
		return cmp.Or(compareHealth(a.Status, b.Status), cmp.Compare(a.Ref.Namespace, b.Ref.Namespace), cmp.Compare(a.Ref.Name, b.Ref.Name))
	})
	return l, ctx.Err()
}

// compareHealth sorts what failed first and what is healthy last.
func compareHealth(a, b Status) int {
	rank := func(s Status) int {
		return slices.Index([]Status{Failed, Unknown, Terminating, InProgress, Current}, s)
	}
	return cmp.Compare(rank(a), rank(b))
}
