package health

import (
	"cmp"
	"fmt"
	"slices"

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

// sharedLists are lists and reads that the searches for the reasons of several objects share: one list for
// each object, or for each level of what it owns, would take too long. They are not safe for concurrent use.
type sharedLists struct {
	single    bool // only one object is explained: events, of which there may be many, are not shared
	skipOwned bool // what custom resources own is not explained
	skipPods  bool // a Service whose Pods are not healthy is not explained: they are judged themselves
	// skipPrograms leaves out which programs of a Pod do not run: the caller says so.
	skipPrograms bool
	naming       *namingLimit // nil = without a limit
	reads        map[neededObject]readAnswer
	skipping     map[string]bool // whether programs of namespaces do not run
	answers      map[listedResource]*listAnswer
	custom       *customAnswer     // nil until it is asked for
	stopped      map[string]string // why controllers do not run; nil until it is asked for
	kinds        map[schema.GroupVersionKind]kindAnswer
	names        *kinds.Mapper                      // nil until it is asked for
	applied      map[Ref]*unstructured.Unstructured // of inventories
	disruptions  map[string]*disruptions            // by namespace
	nodes        []*corev1.Node                     // nil until they are asked for
	// podsOfClaims are the Pods that use claims, by namespace and the claim's name.
	podsOfClaims map[string]map[string][]podOfClaim
}

// customAnswer has the custom resources.
type customAnswer struct {
	resources []schema.GroupVersionResource
	err       error
}

func newSharedLists() *sharedLists {
	return &sharedLists{
		answers: map[listedResource]*listAnswer{}, kinds: map[schema.GroupVersionKind]kindAnswer{}, applied: map[Ref]*unstructured.Unstructured{},
		podsOfClaims: map[string]map[string][]podOfClaim{}, reads: map[neededObject]readAnswer{}, skipping: map[string]bool{},
		disruptions: map[string]*disruptions{},
	}
}

func (l *sharedLists) disruptionsIn(namespace string) *disruptions {
	if l.disruptions[namespace] == nil {
		l.disruptions[namespace] = &disruptions{}
	}
	return l.disruptions[namespace]
}

// mapper returns what maps the names of resources, for which it asks the server only once.
func (l *sharedLists) mapper(server discovery.DiscoveryInterfaceWithContext) kinds.Mapper {
	if l.names == nil {
		l.names = new(kinds.NewMapper(server))
	}
	return *l.names
}

// newListsOfOne returns the lists for the only object that is explained.
func newListsOfOne() *sharedLists {
	lists := newSharedLists()
	lists.single = true
	return lists
}

// kindAnswer has the resource of a kind, or why it has none.
type kindAnswer struct {
	resource
	err      error
	unserved string // why it is not served, once that was asked for
}

// findKind discovers a kind, only once for searches that share lists.
func (s *reasonSearch) findKind(gvk schema.GroupVersionKind) kindAnswer {
	found, known := s.lists.kinds[gvk]
	if !known {
		found.resource, found.err = (&Waiter{kinds: s.kinds, objects: s.objects}).findResource(s.ctx, gvk)
		s.lists.kinds[gvk] = found
	}
	return found
}

type listedResource struct {
	schema.GroupVersionResource
	namespace string
}

// listAnswer has the objects by the UID of the object that they belong to.
type listAnswer struct {
	objects map[types.UID][]unstructured.Unstructured
	err     error
}

// listRelated lists the objects that belong to one, as belongsTo says. It lists the resource only
// once for searches that share lists, unless o selects the objects of a single one.
func (s *reasonSearch) listRelated(r schema.GroupVersionResource, u *unstructured.Unstructured, namespace string,
	belongsTo func(*unstructured.Unstructured) types.UID, o metav1.ListOptions,
) []unstructured.Unstructured {
	place, shared := listedResource{r, namespace}, !s.lists.single || o.FieldSelector == ""
	if shared {
		if known := s.lists.answers[place]; known != nil {
			if known.err != nil {
				s.recordError(known.err)
			}
			return known.objects[u.GetUID()]
		}
		o = metav1.ListOptions{}
	}
	before := s.err
	s.err = nil
	answer := &listAnswer{objects: map[types.UID][]unstructured.Unstructured{}}
	for _, item := range s.list(r, namespace, o) {
		uid := belongsTo(&item)
		answer.objects[uid] = append(answer.objects[uid], item)
	}
	answer.err = s.err
	s.err = cmp.Or(before, s.err)
	if shared {
		s.lists.answers[place] = answer
	}
	return answer.objects[u.GetUID()]
}

// listAll lists all objects of a resource, only once for searches that share lists.
func (s *reasonSearch) listAll(r schema.GroupVersionResource, namespace string) []unstructured.Unstructured {
	noObject, toNone := &unstructured.Unstructured{}, func(*unstructured.Unstructured) types.UID { return "" } // all belong to none
	return s.listRelated(r, noObject, namespace, toNone, metav1.ListOptions{})
}

func (s *reasonSearch) resourceClient(r schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return s.objects.Resource(r)
	}
	return s.objects.Resource(r).Namespace(namespace)
}

// listOwned lists the objects that an owner controls.
func (s *reasonSearch) listOwned(r schema.GroupVersionResource, owner *unstructured.Unstructured) []unstructured.Unstructured {
	return s.listRelated(r, owner, owner.GetNamespace(), controllerUID, metav1.ListOptions{})
}

// customResources returns the namespaced resources that are not of Kubernetes and can be listed. With an error they may be
// a part.
func (s *reasonSearch) customResources() ([]schema.GroupVersionResource, error) {
	if s.lists.custom != nil {
		return s.lists.custom.resources, s.lists.custom.err
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
	s.lists.custom = answer
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
