package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
)

const (
	// maxListed bounds how many objects List returns, and reads at once; maxExamined of how many it
	// determines the health, as the live view lists them again and again; maxExplained of how many it
	// looks for the reason.
	maxListed    = 2000
	maxExamined  = 10000
	maxExplained = 20
)

// Listed is an object with its state. The message of one that is not healthy is the
// reason, as Why returns it.
type Listed struct {
	State
	Created time.Time
	UID     string
}

// Listing are the objects of one kind: those first that are not healthy. Of many, the last ones are
// only counted.
type Listing struct {
	Resource schema.GroupVersionResource
	Kind     string
	Items    []Listed
	Total    int  // of the objects that were examined
	Healthy  int  // of these
	More     bool // there are more objects than were examined
}

// List returns the objects of a kind, as kubectl names it, of all namespaces.
func (w *Waiter) List(ctx context.Context, kind string) (Listing, error) {
	ctx = requestlog.Discard(ctx)
	mapper := kinds.NewMapper(w.kinds)
	m, err := mapper.Find(ctx, kind)
	if err != nil {
		return Listing{}, fmt.Errorf("unknown kind %q: %s", kind, mapper.Hint(ctx, kind, "use a name that kubectl accepts, such as pods or deploy"))
	}
	l := Listing{Resource: m.Resource, Kind: m.GroupVersionKind.Kind}
	explained, lists := 0, sharedLists{}
	o := metav1.ListOptions{Limit: maxListed}
	for l.Total < maxExamined {
		page, err := w.objects.Resource(m.Resource).List(ctx, o)
		if apierrors.IsResourceExpired(err) && l.Total > 0 { // compacted meanwhile
			break
		}
		if err != nil {
			return Listing{}, fmt.Errorf("list %s: %w", m.Resource.Resource, err)
		}
		for i := range page.Items {
			u := &page.Items[i]
			s := StateOf(u)
			if s.Status != Current && explained < maxExplained {
				explained++
				s.Message = w.why(ctx, u, lists)
			}
			l.add(Listed{s, u.GetCreationTimestamp().Time, string(u.GetUID())})
		}
		l.keepWorst()
		if o.Continue = page.GetContinue(); o.Continue == "" {
			break
		}
	}
	l.More = o.Continue != ""
	return l, ctx.Err()
}

func (l *Listing) add(item Listed) {
	l.Items = append(l.Items, item)
	l.Total++
	if item.Status == Current {
		l.Healthy++
	}
}

// keepWorst sorts the objects by their health and name, and keeps the first ones.
func (l *Listing) keepWorst() {
	slices.SortStableFunc(l.Items, func(a, b Listed) int {
		return cmp.Or(compareHealth(a.Status, b.Status), cmp.Compare(a.Ref.Namespace, b.Ref.Namespace), cmp.Compare(a.Ref.Name, b.Ref.Name))
	})
	l.Items = l.Items[:min(len(l.Items), maxListed)]
}

// compareHealth sorts what failed first and what is healthy last.
func compareHealth(a, b Status) int {
	rank := func(s Status) int {
		return slices.Index([]Status{Failed, Unknown, Terminating, InProgress, Current}, s)
	}
	return cmp.Compare(rank(a), rank(b))
}
