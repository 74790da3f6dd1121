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

// errNotServed is what the error wraps that a kind is not served now.
var errNotServed = errors.New("the server does not serve it")

// errNotWatchable is what the error wraps that a kind can never be waited for.
var errNotWatchable = errors.New("it cannot be waited for")

// resource is what the server calls a kind.
type resource struct {
	metav1.APIResource
	schema.GroupVersionResource
}

// findResource asks the server for a kind: not for all the others, and not a cache,
// because the kind may be a new one.
func (w *Waiter) findResource(ctx context.Context, gvk schema.GroupVersionKind) (resource, error) {
	list, err := w.kinds.ServerResourcesForGroupVersionWithContext(ctx, gvk.GroupVersion().String())
	if apierrors.IsNotFound(err) {
		return resource{}, notServedError(gvk)
	}
	if err != nil {
		return resource{}, fmt.Errorf("ask for kind %s in %s: %w", gvk.Kind, gvk.GroupVersion(), err)
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
	return resource{r, gvk.GroupVersion().WithResource(r.Name)}, nil
}

func notServedError(gvk schema.GroupVersionKind) error {
	return fmt.Errorf("kind %s in %s: %w", gvk.Kind, gvk.GroupVersion(), errNotServed)
}

// asNotServed tells apart that the server knows the path of a kind no more.
func asNotServed(err error, gvk schema.GroupVersionKind) error {
	if apierrors.IsNotFound(err) {
		return notServedError(gvk)
	}
	return err
}

// namespace is the one that objects are in which name one, or none.
func (r resource) namespace(named string) string {
	switch {
	case !r.Namespaced:
		return ""
	case named == "":
		return metav1.NamespaceDefault
	}
	return named
}

// client reaches the objects of a resource in a namespace; "" where it has none.
func (r resource) client(objects dynamic.Interface, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return objects.Resource(r.GroupVersionResource)
	}
	return objects.Resource(r.GroupVersionResource).Namespace(namespace)
}
