package health

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// errNotServed is wrapped by the errors for kinds that are not served, maybe not yet.
var errNotServed = errors.New("not served by the API server")

// errNotWatchable is wrapped by the errors for kinds that cannot be watched.
var errNotWatchable = errors.New("cannot be watched")

// resource is the resource of a kind.
type resource struct {
	metav1.APIResource
	schema.GroupVersionResource
	hasStatus bool // it has the subresource status
}

// findResource discovers a single kind. It uses no cache because the kind may be new.
func (w *Waiter) findResource(ctx context.Context, gvk schema.GroupVersionKind) (resource, error) {
	list, err := w.kinds.ServerResourcesForGroupVersionWithContext(ctx, gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return resource{}, notServedError(gvk)
	}
	if err != nil {
		return resource{}, fmt.Errorf("discover kind %s in %s: %w", gvk.Kind, gvk.GroupVersion(), err)
	}
	i := slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == gvk.Kind && !strings.Contains(r.Name, "/")
	})
	if i < 0 {
		return resource{}, notServedError(gvk)
	}
	r := list.APIResources[i]
	for _, verb := range []string{"list", "watch"} {
		if !slices.Contains(r.Verbs, verb) {
			return resource{}, fmt.Errorf("kind %s in %s has no verb %s: %w", gvk.Kind, gvk.GroupVersion(), verb, errNotWatchable)
		}
	}
	hasStatus := slices.ContainsFunc(list.APIResources, func(sub metav1.APIResource) bool { return sub.Name == r.Name+"/status" })
	return resource{r, gvk.GroupVersion().WithResource(r.Name), hasStatus}, nil
}

func notServedError(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("kind %s in %s: %w", gvk.Kind, gvk.GroupVersion(), errNotServed)
}

// asNotServed converts the error for a path that is not served any more.
func asNotServed(err error, gvk schema.GroupVersionKind) error {
	if apierrors.IsNotFound(err) {
		return notServedError(gvk)
	}
	return err
}

// namespace returns the namespace of objects of the resource: that which is named, the
// default, or none.
func (r resource) namespace(named string) string {
	switch {
	case !r.Namespaced:
		return ""
	case named == "":
		return metav1.NamespaceDefault
	}
	return named
}

// client returns a client for the objects of a resource in a namespace, "" if the
// resource is not namespaced.
func (r resource) client(objects dynamic.Interface, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return objects.Resource(r.GroupVersionResource)
	}
	return objects.Resource(r.GroupVersionResource).Namespace(namespace)
}
