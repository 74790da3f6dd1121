// Package kinds finds resources by the names that kubectl accepts.
package kinds

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"

	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
)

// Mapper maps names to resources. If several resources have a name, it is that of the group
// with the highest priority, as in kubectl.
type Mapper struct {
	names  meta.RESTMapperWithContext
	served discovery.DiscoveryInterfaceWithContext
}

// NewMapper returns a mapper that knows what a server serves.
func NewMapper(server discovery.DiscoveryInterfaceWithContext) Mapper {
	cached := orderedCache{memory.NewMemCacheClientWithContext(server)}
	return Mapper{restmapper.NewShortcutExpanderWithContext(restmapper.NewDeferredDiscoveryRESTMapperWithContext(cached), cached, nil), cached}
}

// NewStaticMapper returns a mapper that knows the resources of groups, the group with the
// highest priority first.
func NewStaticMapper(groups []*restmapper.APIGroupResources) Mapper {
	resources := meta.ToRESTMapperWithContext(restmapper.NewDiscoveryRESTMapper(groups))
	served := staticDiscovery{groups: groups}
	return Mapper{restmapper.NewShortcutExpanderWithContext(resources, served, nil), served}
}

// Find returns the resource that kubectl calls so: "deploy", "pods", "Widget.example.com",
// "widgets.v1.example.com". meta.IsNoMatchError reports that there is none.
func (m Mapper) Find(ctx context.Context, name string) (*meta.RESTMapping, error) {
	ctx = requestlog.Discard(ctx)
	gvr, resource := schema.ParseResourceArg(name)
	candidates := []schema.GroupVersionResource{resource.WithVersion("")}
	if gvr != nil {
		candidates = append([]schema.GroupVersionResource{*gvr}, candidates...)
	}
	for _, c := range candidates {
		gvk, err := m.names.KindForWithContext(ctx, c)
		if err == nil {
			return m.names.RESTMappingWithContext(ctx, gvk.GroupKind(), gvk.Version)
		}
		if !meta.IsNoMatchError(err) {
			return nil, err
		}
	}
	gvk, kind := schema.ParseKindArg(name)
	if gvk != nil {
		if m, err := m.names.RESTMappingWithContext(ctx, gvk.GroupKind(), gvk.Version); !meta.IsNoMatchError(err) {
			return m, err
		}
	}
	return m.names.RESTMappingWithContext(ctx, kind)
}

// Hint returns "did you mean …?" with the kind that an unknown name probably stands for, or otherwise if there is none.
func (m Mapper) Hint(ctx context.Context, name, otherwise string) string {
	name, _, _ = strings.Cut(name, ".") // without the group
	return suggest.Hint(name, m.longNames(ctx), otherwise)
}

// longNames returns the kinds that are served, and their plurals, as far as they are known. Short names are like too many
// words.
func (m Mapper) longNames(ctx context.Context) (names []string) {
	_, lists, _ := m.served.ServerGroupsAndResourcesWithContext(requestlog.Discard(ctx))
	for _, list := range lists {
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") { // not a subresource
				names = append(names, strings.ToLower(r.Kind), r.Name)
			}
		}
	}
	return names
}

// Reset makes the mapper ask the server again: a kind may be new.
func (m Mapper) Reset(ctx context.Context) {
	meta.MaybeResetRESTMapperWithContext(ctx, m.names)
}

// orderedCache lists resources by the priority of their groups, on which the meaning of a short
// name depends. The cache in memory returns the lists of an aggregated discovery in random order;
// hidden behind this interface it is asked for one group after the other.
type orderedCache struct {
	discovery.CachedDiscoveryInterfaceWithContext
}

func (c orderedCache) ServerGroupsAndResourcesWithContext(ctx context.Context) ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return discovery.ServerGroupsAndResourcesWithContext(ctx, c)
}

// staticDiscovery is what NewShortcutExpanderWithContext needs of a discovery.
type staticDiscovery struct {
	discovery.DiscoveryInterfaceWithContext // nil

	groups []*restmapper.APIGroupResources
}

func (d staticDiscovery) ServerGroupsAndResourcesWithContext(context.Context) (groups []*metav1.APIGroup, lists []*metav1.APIResourceList, err error) {
	for _, g := range d.groups {
		groups = append(groups, &g.Group)
		for _, v := range g.Group.Versions {
			lists = append(lists, &metav1.APIResourceList{GroupVersion: v.GroupVersion, APIResources: g.VersionedResources[v.Version]})
		}
	}
	return groups, lists, nil
}

// Preferred returns the resources that a server serves, without subresources, in the preferred versions
// of their groups. With an error the list is incomplete.
func Preferred(ctx context.Context, server discovery.DiscoveryInterfaceWithContext) (found []metav1.APIResource, err error) {
	// The client's method of this name makes three attempts if a group fails.
	lists, err := discovery.ServerPreferredResourcesWithContext(ctx, server)
	for _, list := range lists {
		gv, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			err = errors.Join(err, parseErr)
			continue
		}
		for _, r := range list.APIResources {
			r.Group, r.Version = gv.Group, gv.Version
			found = append(found, r)
		}
	}
	return found, err
}

// Namespaced returns those of the Preferred resources that are namespaced and support all verbs. With an error the
// list is incomplete.
func Namespaced(ctx context.Context, server discovery.DiscoveryInterfaceWithContext, verbs ...string) (found []schema.GroupVersionResource, err error) {
	all, err := Preferred(ctx, server)
	for _, r := range all {
		if r.Namespaced && (discovery.SupportsAllVerbs{Verbs: verbs}).Match("", &r) {
			found = append(found, schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Name})
		}
	}
	return found, err
}
