package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const maxConcurrentLists = 4 // lists under way

// objectLister lists what an API server has.
type objectLister struct {
	kinds   discovery.DiscoveryInterfaceWithContext
	objects dynamic.Interface
}

func newObjectLister(cfg *rest.Config) (*objectLister, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.RateLimiter, cfg.QPS = nil, -1
	cfg.WarningHandlerWithContext = rest.NoWarnings{} // of what is deprecated: nobody asked for that
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(cfg, client)
	if err != nil {
		return nil, err
	}
	objects, err := dynamic.NewForConfigAndClient(cfg, client)
	if err != nil {
		return nil, err
	}
	return &objectLister{kinds, objects}, nil
}

// listAll returns every object that is stored, in the order of [before]. The error
// says what could not be listed; the rest is returned all the same.
func (r *objectLister) listAll(ctx context.Context) ([]unstructured.Unstructured, error) {
	resources, err := r.listableResources(ctx)
	errs := []error{err}
	found := make([][]unstructured.Unstructured, len(resources))
	failures := make([]error, len(resources))
	var lists errgroup.Group
	lists.SetLimit(maxConcurrentLists)
	for i, resource := range resources {
		lists.Go(func() error {
			list, err := r.objects.Resource(resource).List(ctx, metav1.ListOptions{})
			if err != nil {
				failures[i] = fmt.Errorf("list %s: %w", resource.GroupResource(), err)
				return nil
			}
			found[i] = list.Items
			return nil
		})
	}
	_ = lists.Wait() // failures has them
	objects := dropDuplicates(slices.Concat(found...))
	slices.SortFunc(objects, compareObjects)
	return objects, errors.Join(append(errs, failures...)...)
}

// listableResources names the resources that can be listed, in the versions that the
// server prefers, the core's first.
func (r *objectLister) listableResources(ctx context.Context) ([]schema.GroupVersionResource, error) {
	lists, err := discovery.ServerPreferredResourcesWithContext(ctx, r.kinds)
	if err != nil {
		err = fmt.Errorf("ask what the API server serves: %w", err)
	}
	var all []schema.GroupVersionResource
	for _, list := range lists {
		gv, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			err = errors.Join(err, parseErr)
			continue
		}
		for _, resource := range list.APIResources {
			if slices.Contains(resource.Verbs, "list") && !strings.Contains(resource.Name, "/") {
				all = append(all, gv.WithResource(resource.Name))
			}
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionResource) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource))
	})
	return all, err
}

// dropDuplicates leaves out what is made up for the answer, which has no UID, and what
// has come before from another group.
func dropDuplicates(objects []unstructured.Unstructured) []unstructured.Unstructured {
	known := map[types.UID]bool{"": true}
	return slices.DeleteFunc(objects, func(u unstructured.Unstructured) bool {
		was := known[u.GetUID()]
		known[u.GetUID()] = true
		return was
	})
}

// compareObjects puts namespaces and definitions before what needs them, and what has
// no namespace before what is in one.
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
