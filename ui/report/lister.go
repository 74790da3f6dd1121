package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/objectclients"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
)

const maxConcurrentLists = 4

// objectLister lists all objects of an API server, or of a namespace.
type objectLister struct {
	kinds     discovery.DiscoveryInterfaceWithContext
	objects   dynamic.Interface
	namespace string // if not empty, only what may have a state there
}

func newObjectLister(cfg *rest.Config) (*objectLister, error) {
	clients, err := objectclients.New(cfg)
	if err != nil {
		return nil, err
	}
	return &objectLister{kinds: clients.Kinds, objects: clients.Objects}, nil
}

// listAll returns all stored objects, sorted by compareObjects. The error lists the
// resources that could not be listed; the other objects are returned anyway.
func (r *objectLister) listAll(ctx context.Context) ([]unstructured.Unstructured, error) {
	ctx = requestlog.Discard(ctx)
	resources, discoverErr := r.listableResources(ctx)
	objects, err := r.list(ctx, resources)
	return objects, errors.Join(discoverErr, err)
}

// list is listAll for some resources.
func (r *objectLister) list(ctx context.Context, resources []schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	found := make([][]unstructured.Unstructured, len(resources))
	failures := make([]error, len(resources))
	var lists errgroup.Group
	lists.SetLimit(maxConcurrentLists)
	for i, resource := range resources {
		lists.Go(func() error {
			list, err := r.objects.Resource(resource).Namespace(r.namespace).List(ctx, metav1.ListOptions{}) // "" = all
			if err != nil {
				if r.namespace != "" {
					err = definitionDeleted(err)
				}
				failures[i] = fmt.Errorf("list %s: %w", resource.GroupResource(), err)
				return nil
			}
			found[i] = list.Items
			return nil
		})
	}
	_ = lists.Wait() // the errors are in failures
	objects := dropDuplicates(slices.Concat(found...))
	slices.SortFunc(objects, compareObjects)
	return objects, errors.Join(failures...)
}

// listableResources returns the resources that support list, in the server's
// preferred versions, the core group first.
func (r *objectLister) listableResources(ctx context.Context) ([]schema.GroupVersionResource, error) {
	resources, err := kinds.Preferred(ctx, r.kinds)
	if err != nil {
		err = fmt.Errorf("discover the API resources: %w", err)
	}
	var all []schema.GroupVersionResource
	for _, resource := range resources {
		if r.namespace != "" && (!resource.Namespaced || !slices.Contains(resource.Verbs, "delete") || stateless[schema.GroupResource{Group: resource.Group, Resource: resource.Name}]) {
			continue
		}
		// The group events.k8s.io serves the Events of the core group in another form.
		if slices.Contains(resource.Verbs, "list") && resource.Group != "events.k8s.io" {
			all = append(all, schema.GroupVersionResource{Group: resource.Group, Version: resource.Version, Resource: resource.Name})
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	return all, err
}

// dropDuplicates removes objects without a UID, which are computed and not stored,
// and objects that another group serves as well.
func dropDuplicates(objects []unstructured.Unstructured) []unstructured.Unstructured {
	known := map[types.UID]bool{"": true}
	return slices.DeleteFunc(objects, func(u unstructured.Unstructured) bool {
		was := known[u.GetUID()]
		known[u.GetUID()] = true
		return was
	})
}

// compareObjects sorts namespaces and CustomResourceDefinitions before the objects
// that need them, and cluster-scoped objects before namespaced ones.
func compareObjects(a, b unstructured.Unstructured) int {
	return cmp.Or(
		cmp.Compare(sortRank(a), sortRank(b)), cmp.Compare(a.GetNamespace(), b.GetNamespace()),
		cmp.Compare(a.GroupVersionKind().Group, b.GroupVersionKind().Group), cmp.Compare(a.GetKind(), b.GetKind()),
		cmp.Compare(a.GetName(), b.GetName()),
	)
}

func sortRank(u unstructured.Unstructured) int {
	switch {
	case u.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Namespace"}:
		return 0
	case u.GetKind() == "CustomResourceDefinition":
		return 1
	case u.GetNamespace() == "":
		return 2
	}
	return 3
}
