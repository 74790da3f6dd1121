package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	mostDependents = 500
	listsAtOnce    = 8
	lateNamed      = 5 // resources that an error names, of those that were not listed in time
)

// dependents returns the objects whose owner references name the UID of u, by
// kind and name. Owners in a namespace have dependents in it only. Events and
// what may not be listed are left out; its error says what else is missing.
func (i *Inspector) dependents(ctx context.Context, r resource, u *unstructured.Unstructured) ([]observe.Object, error) {
	if u.GetUID() == "" { // nothing that is stored
		return nil, nil
	}
	known, err := i.catalog.listing(ctx, oldAfter)
	if err != nil {
		return nil, err
	}
	var (
		mu       sync.Mutex
		found    []observe.Object
		late     []string
		problems = []error{known.err}
		lists    errgroup.Group
	)
	lists.SetLimit(listsAtOnce)
	for _, holding := range known.holding(r.namespaced) {
		lists.Go(func() error {
			objects, err := i.ownedBy(ctx, holding, u)
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
			return nil // one that fails must not end the others
		})
	}
	if err := lists.Wait(); err != nil {
		return nil, err
	}
	if len(late) > 0 {
		problems = append(problems, fmt.Errorf("list %s: %w", some(late), context.Cause(ctx)))
	}
	found = arrange(found)
	if over := len(found) - mostDependents; over > 0 {
		problems = append(problems, fmt.Errorf("it has %d dependents, too many by %d", len(found), over))
		found = found[:mostDependents]
	}
	return found, join(problems)
}

// ownedBy lists the objects of a resource that u owns.
func (i *Inspector) ownedBy(ctx context.Context, r resource, u *unstructured.Unstructured) ([]observe.Object, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	// Where the server has a watch cache, as that is: waiting until each has caught
	// up with the store would take longer than all the rest.
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

// arrange sorts objects and leaves out those that two groups serve.
func arrange(objects []observe.Object) []observe.Object {
	slices.SortFunc(objects, func(a, b observe.Object) int {
		return cmp.Or(
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.UID, b.UID), cmp.Compare(a.Group, b.Group))
	})
	return slices.CompactFunc(objects, func(a, b observe.Object) bool { return a.UID != "" && a.UID == b.UID })
}

// some names the first few.
func some(names []string) string {
	slices.Sort(names)
	if over := len(names) - lateNamed; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:lateNamed], ", "), over)
	}
	return strings.Join(names, ", ")
}
