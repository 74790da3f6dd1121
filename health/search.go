package health

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
)

func coreResource(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: resource}
}

// get returns an object, nil if it does not exist.
func (s *reasonSearch) get(r schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	u, err := s.resourceClient(r, namespace).Get(s.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		s.recordError(fmt.Errorf("get %s %s: %w", r.Resource, name, err))
		return nil
	}
	return u
}

// list returns objects. If that fails, it records the error and returns none.
func (s *reasonSearch) list(r schema.GroupVersionResource, namespace string, o metav1.ListOptions) []unstructured.Unstructured {
	list, err := s.resourceClient(r, namespace).List(s.ctx, o)
	if err != nil {
		s.recordError(fmt.Errorf("list %s: %w", r.Resource, err))
		return nil
	}
	return list.Items
}

// searchOptions are what the caller of a search does not want to know.
type searchOptions struct {
	skipOwned    bool         // what custom resources own is not explained
	skipPods     bool         // a Service whose Pods are not healthy is not explained: they are judged themselves
	skipPrograms bool         // which programs of a Pod do not run is left out: the caller says so
	naming       *namingLimit // nil = without a limit
}

// searchCache has the lists and reads that the searches for the reasons of several objects share: one list for
// each object, or for each level of what it owns, would take too long. It is not safe for concurrent use.
type searchCache struct {
	lists       map[listedResource]*listAnswer
	reads       map[neededObject]readAnswer
	kinds       map[schema.GroupVersionKind]kindAnswer
	applied     map[Ref]*unstructured.Unstructured // of inventories
	skipping    map[string]bool                    // whether programs of namespaces do not run
	disruptions map[string]*disruptions            // by namespace
	// podsOfClaims are the Pods that use claims, by namespace and the claim's name.
	podsOfClaims map[string]map[string][]podOfClaim
	// warnings are about custom resources, by namespace and UID; readingWarnings is how long they were read.
	warnings        map[string]objectsByUID
	readingWarnings time.Duration
	// The others are nil until they are asked for.
	custom  *customAnswer
	stopped map[string]string // why controllers do not run
	names   *kinds.Mapper
	nodes   []*corev1.Node
}

func newSearchCache() *searchCache {
	return &searchCache{
		lists: map[listedResource]*listAnswer{}, reads: map[neededObject]readAnswer{}, kinds: map[schema.GroupVersionKind]kindAnswer{},
		applied: map[Ref]*unstructured.Unstructured{}, skipping: map[string]bool{}, disruptions: map[string]*disruptions{},
		podsOfClaims: map[string]map[string][]podOfClaim{}, warnings: map[string]objectsByUID{},
	}
}

// customAnswer has the custom resources.
type customAnswer struct {
	resources []schema.GroupVersionResource
	err       error
}

func (c *searchCache) disruptionsIn(namespace string) *disruptions {
	if c.disruptions[namespace] == nil {
		c.disruptions[namespace] = &disruptions{}
	}
	return c.disruptions[namespace]
}

// mapper returns what maps the names of resources, for which it asks the server only once.
func (c *searchCache) mapper(server discovery.DiscoveryInterfaceWithContext) kinds.Mapper {
	if c.names == nil {
		c.names = new(kinds.NewMapper(server))
	}
	return *c.names
}

// kindAnswer has the resource of a kind, or why it has none.
type kindAnswer struct {
	resource
	err      error
	unserved string // why it is not served, once that was asked for
}

// findKind discovers a kind, only once for searches that share a cache.
func (s *reasonSearch) findKind(gvk schema.GroupVersionKind) kindAnswer {
	found, known := s.cache.kinds[gvk]
	if !known {
		found.resource, found.err = (&Waiter{kinds: s.kinds, objects: s.objects}).findResource(s.ctx, gvk)
		s.cache.kinds[gvk] = found
	}
	return found
}

type listedResource struct {
	schema.GroupVersionResource
	namespace string
}

// listAnswer has the objects of a resource.
type listAnswer struct {
	objects []unstructured.Unstructured
	related objectsByUID // nil until it is asked for
	err     error
}

// listOnce lists a resource, only once for searches that share a cache.
func (s *reasonSearch) listOnce(r schema.GroupVersionResource, namespace string) *listAnswer {
	place := listedResource{r, namespace}
	answer := s.cache.lists[place]
	if answer == nil {
		answer = &listAnswer{}
		before := s.err
		s.err = nil
		answer.objects = s.list(r, namespace, metav1.ListOptions{})
		answer.err, s.err = s.err, before
		s.cache.lists[place] = answer
	}
	if answer.err != nil {
		s.recordError(answer.err)
	}
	return answer
}

// listAll lists all objects of a resource.
func (s *reasonSearch) listAll(r schema.GroupVersionResource, namespace string) []unstructured.Unstructured {
	return s.listOnce(r, namespace).objects
}

// objectsByUID are objects by the UID of the object that they belong to.
type objectsByUID map[types.UID][]unstructured.Unstructured

// listRelated lists the objects of a resource by the object that they belong to, whose UID a function returns: always the same one
// for a resource.
func (s *reasonSearch) listRelated(r schema.GroupVersionResource, namespace string, uidOf func(*unstructured.Unstructured) types.UID) objectsByUID {
	answer := s.listOnce(r, namespace)
	if answer.related == nil {
		answer.related = groupByUID(answer.objects, uidOf)
	}
	return answer.related
}

func groupByUID(objects []unstructured.Unstructured, uidOf func(*unstructured.Unstructured) types.UID) objectsByUID {
	groups := objectsByUID{}
	for i := range objects {
		uid := uidOf(&objects[i])
		groups[uid] = append(groups[uid], objects[i])
	}
	return groups
}

func (s *reasonSearch) resourceClient(r schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return s.objects.Resource(r)
	}
	return s.objects.Resource(r).Namespace(namespace)
}

// listOwned lists the objects that an owner controls.
func (s *reasonSearch) listOwned(r schema.GroupVersionResource, owner *unstructured.Unstructured) []unstructured.Unstructured {
	return s.listRelated(r, owner.GetNamespace(), controllerUID)[owner.GetUID()]
}

// customResources returns the namespaced resources that are not of Kubernetes and can be listed. With an error they may be
// a part.
func (s *reasonSearch) customResources() ([]schema.GroupVersionResource, error) {
	if s.cache.custom != nil {
		return s.cache.custom.resources, s.cache.custom.err
	}
	answer := &customAnswer{}
	served, err := kinds.Preferred(s.ctx, s.kinds)
	if err != nil {
		answer.err = fmt.Errorf("discover kinds: %w", err)
	}
	for _, r := range served {
		if r.Namespaced && kinds.IsCustom(schema.GroupKind{Group: r.Group}) && slices.Contains(r.Verbs, "list") {
			answer.resources = append(answer.resources, schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name})
		}
	}
	s.cache.custom = answer
	return answer.resources, answer.err
}

// controllerUID returns the UID of the owner that controls an object; "" if none does.
func controllerUID(u *unstructured.Unstructured) types.UID {
	if ref := metav1.GetControllerOf(u); ref != nil {
		return ref.UID
	}
	return ""
}

// controllerOf returns the object that controls an object; zero if none does.
func controllerOf(u *unstructured.Unstructured) Ref {
	owner := metav1.GetControllerOf(u)
	if owner == nil {
		return Ref{}
	}
	return Ref{schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind), u.GetNamespace(), owner.Name}
}

// convertObject converts an object to its Go type.
func convertObject(u *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, into)
}
