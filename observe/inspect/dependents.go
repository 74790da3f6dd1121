package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/internal/oneline"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	maxDependents = 500
	parallelLists = 8
	maxLateNamed  = 5 // resources that an error names, of those not listed in time
)

// dependents returns the objects whose owner references have the UID of u, sorted by
// kind and name. A namespaced owner has dependents in its namespace only. Events and
// resources that the client may not list are left out. The error says what else is
// missing.
func (i *Inspector) dependents(ctx context.Context, served *listing, r resource, u *unstructured.Unstructured) ([]observe.Object, error) {
	if u.GetUID() == "" { // not a stored object
		return nil, nil
	}
	var (
		mu       sync.Mutex
		found    []observe.Object
		late     []string
		problems = []error{served.err}
		lists    errgroup.Group
	)
	lists.SetLimit(parallelLists)
	for _, holding := range served.possibleDependents(r.namespaced) {
		lists.Go(func() error {
			objects, err := i.listOwned(ctx, holding, u)
			mu.Lock()
			defer mu.Unlock()
			found = append(found, objects...)
			switch {
			case err == nil:
			case ctx.Err() != nil:
				late = append(late, holding.GroupResource().String())
			default:
				problems = append(problems, fmt.Errorf("list %s: %w", holding.GroupResource(), err))
			}
			return nil // an error must not cancel the other lists
		})
	}
	if err := lists.Wait(); err != nil {
		return nil, err
	}
	if len(late) > 0 {
		slices.Sort(late)
		problems = append(problems, fmt.Errorf("list %s: %w", words.First(late, maxLateNamed), context.Cause(ctx)))
	}
	found = sortAndDeduplicate(found)
	if over := len(found) - maxDependents; over > 0 {
		problems = append(problems, fmt.Errorf("it has %d dependents, the last %d are left out", len(found), over))
		found = found[:maxDependents]
	}
	return found, oneline.Join(problems...)
}

// listOwned lists the objects of a resource that u owns.
func (i *Inspector) listOwned(ctx context.Context, r resource, u *unstructured.Unstructured) ([]observe.Object, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// Version 0 accepts the state of a watch cache: waiting until every cache has
	// caught up with the store would take most of the time.
	list, err := i.metadata.Resource(r.GroupVersionResource).Namespace(u.GetNamespace()).
		List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var objects []observe.Object
	for _, item := range list.Items {
		owns := func(ref metav1.OwnerReference) bool { return ref.UID == u.GetUID() }
		if slices.ContainsFunc(item.OwnerReferences, owns) {
			objects = append(objects, r.object(item.Namespace, item.Name, string(item.UID)))
		}
	}
	return objects, nil
}

// sortAndDeduplicate sorts objects and removes duplicates, which are served in two
// groups.
func sortAndDeduplicate(objects []observe.Object) []observe.Object {
	slices.SortFunc(objects, func(a, b observe.Object) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.UID, b.UID), cmp.Compare(a.Group, b.Group))
	})
	return slices.CompactFunc(objects, func(a, b observe.Object) bool { return a.UID != "" && a.UID == b.UID })
}
