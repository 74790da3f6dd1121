package health

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// maxListed bounds how many objects List returns, and reads at once; maxExamined of how many it
	// determines the health, as the live view lists them again and again; maxExplained of how many it
	// looks for the reason.
	maxListed    = 2000
	maxExamined  = 10000
	maxExplained = 20
)

// Listed is an object with its health. The reason of one that is not healthy is what Why returns.
type Listed struct {
	Object  observe.Object
	Health  Status
	Reason  string
	Created time.Time
}

// Listing are the objects of one kind: those first that are not healthy. Of many, the last ones are
// only counted.
type Listing struct {
	Kind    string
	Items   []Listed
	Total   int  // of the objects that were examined
	Healthy int  // of these
	More    bool // there are more objects than were examined
}

// List returns the objects of a kind, as kubectl names it, of all namespaces. It is for users who browse: what the objects
// own is not examined, and when ctx ends, it returns what it has.
func (w *Waiter) List(ctx context.Context, kind string) (Listing, error) {
	ctx = requestlog.Discard(ctx)
	mapper := kinds.NewMapper(w.kinds)
	m, err := mapper.Find(ctx, kind)
	if err != nil {
		advice, _ := w.explainUnknown(ctx, mapper, kind, "use a name that kubectl accepts, such as pods or deploy")
		return Listing{}, fmt.Errorf("unknown kind %q: %s", kind, advice)
	}
	l := Listing{Kind: m.GroupVersionKind.Kind}
	explained, cache := 0, newSearchCache()
	o := metav1.ListOptions{Limit: maxListed}
	for l.Total < maxExamined {
		page, err := w.objects.Resource(m.Resource).List(ctx, o)
		if l.Total > 0 && (ctx.Err() != nil || apierrors.IsResourceExpired(err)) { // it is compacted meanwhile
			break
		}
		if err != nil {
			return Listing{}, w.listError(ctx, m.Resource, err)
		}
		for i := range page.Items {
			u := &page.Items[i]
			s := StateOf(u)
			if s.Status != Current && explained < maxExplained {
				explained++
				s.Message = w.newSearch(ctx, searchOptions{skipOwned: true}, cache).why(u)
			}
			l.add(Listed{observe.Object{
				Group: m.Resource.Group, Resource: m.Resource.Resource, Kind: l.Kind,
				Namespace: u.GetNamespace(), Name: u.GetName(), UID: string(u.GetUID()),
			}, s.Status, s.Message, u.GetCreationTimestamp().Time})
		}
		l.keepWorst()
		if o.Continue = page.GetContinue(); o.Continue == "" {
			break
		}
	}
	l.More = o.Continue != ""
	return l, nil
}

func (l *Listing) add(item Listed) {
	l.Items = append(l.Items, item)
	l.Total++
	if item.Health == Current {
		l.Healthy++
	}
}

// keepWorst sorts the objects by their health and name, and keeps the first ones.
func (l *Listing) keepWorst() {
	slices.SortStableFunc(l.Items, func(a, b Listed) int {
		return cmp.Or(compareHealth(a.Health, b.Health), cmp.Compare(a.Object.Namespace, b.Object.Namespace), cmp.Compare(a.Object.Name, b.Object.Name))
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
