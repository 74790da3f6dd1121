package kinds

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	clienttesting "k8s.io/client-go/testing"
)

// served are groups in the order of their priority, as an API server returns them, each with a
// kind that has the short name, and the singular.
var served = []struct{ group, kind, plural, singular, short string }{
	{"", "Pod", "pods", "pod", "po"},
	{"apps", "Deployment", "deployments", "deployment", "deploy"},
	{"zoo.example", "Gazelle", "gazelles", "gazelle", "gz"},
	{"acme.example", "Deployable", "deployables", "deployable", "deploy"},
	{"beta.example", "Gizmo", "gizmos", "gizmo", "gz"},
	{"cafe.example", "Gz", "pods", "pod", "x"},
}

// serveAggregated starts an API server with aggregated discovery.
func serveAggregated(t *testing.T) discovery.DiscoveryInterfaceWithContext {
	core, named := apidiscovery.APIGroupDiscoveryList{}, apidiscovery.APIGroupDiscoveryList{}
	for _, list := range []*apidiscovery.APIGroupDiscoveryList{&core, &named} {
		list.TypeMeta = metav1.TypeMeta{APIVersion: "apidiscovery.k8s.io/v2", Kind: "APIGroupDiscoveryList"}
	}
	for _, s := range served {
		list := &named
		if s.group == "" {
			list = &core
		}
		list.Items = append(list.Items, apidiscovery.APIGroupDiscovery{
			ObjectMeta: metav1.ObjectMeta{Name: s.group},
			Versions: []apidiscovery.APIVersionDiscovery{{Version: "v1", Freshness: "Current", Resources: []apidiscovery.APIResourceDiscovery{{
				Resource: s.plural, SingularResource: s.singular, ShortNames: []string{s.short}, Scope: apidiscovery.ScopeNamespace,
				ResponseKind: &metav1.GroupVersionKind{Group: s.group, Version: "v1", Kind: s.kind}, Verbs: []string{"get"},
			}}}},
		})
	}
	answers := map[string]apidiscovery.APIGroupDiscoveryList{"/api": core, "/apis": named}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[r.URL.Path]
		if !ok {
			t.Errorf("unexpected request for %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// staticGroups returns the same as NewStaticMapper takes it.
func staticGroups() (groups []*restmapper.APIGroupResources) {
	for _, s := range served {
		v := metav1.GroupVersionForDiscovery{GroupVersion: cmp.Or(s.group, "v1"), Version: "v1"}
		if s.group != "" {
			v.GroupVersion += "/v1"
		}
		groups = append(groups, &restmapper.APIGroupResources{
			Group: metav1.APIGroup{Name: s.group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v},
			VersionedResources: map[string][]metav1.APIResource{"v1": {{
				Name: s.plural, SingularName: s.singular, ShortNames: []string{s.short}, Kind: s.kind, Namespaced: true,
			}}},
		})
	}
	return groups
}

// A name of several resources is that of the group with the highest priority, each time.
func TestFind(t *testing.T) {
	for name, newMapper := range map[string]func() Mapper{
		"server": func() Mapper { return NewMapper(serveAggregated(t)) },
		"static": func() Mapper { return NewStaticMapper(staticGroups()) },
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 {
				m := newMapper()
				for arg, want := range map[string]string{
					"deploy": "deployments.apps", "deploy.apps": "deployments.apps", "deploy.acme.example": "deployables.acme.example",
					"deploy.acme": "deployables.acme.example", "deployables": "deployables.acme.example",
					"deployment.v1.apps": "deployments.apps", "Deployment": "deployments.apps",
					"gz": "gazelles.zoo.example", "gz.beta.example": "gizmos.beta.example",
					"po": "pods", "pod": "pods", "pods.cafe.example": "pods.cafe.example", "Gz.cafe.example": "pods.cafe.example",
				} {
					got, err := m.Find(t.Context(), arg)
					if err != nil {
						t.Fatalf("%s: %v", arg, err)
					}
					if got := got.Resource.GroupResource().String(); got != want {
						t.Fatalf("%s is %s, want %s", arg, got, want)
					}
				}
			}
			if _, err := newMapper().Find(context.Background(), "nosuch"); !meta.IsNoMatchError(err) {
				t.Errorf("got %v, want no match", err)
			}
		})
	}
}

// A name that no resource has is probably that of a kind with a similar one.
func TestHint(t *testing.T) {
	for name, m := range map[string]Mapper{"server": NewMapper(serveAggregated(t)), "static": NewStaticMapper(staticGroups())} {
		for word, want := range map[string]string{
			"deploymnt": `did you mean "deployment"?`, "Deploymnts": `did you mean "deployments"?`, "gizmoo.beta.example": `did you mean "gizmo"?`,
			"podz": `did you mean "pod"?`, "nosuch": "otherwise",
		} {
			if got := m.Hint(t.Context(), word, "otherwise"); got != want {
				t.Errorf("%s: %s: got %s, want %s", name, word, got, want)
			}
		}
	}
}

func TestNamespaced(t *testing.T) {
	got, err := Namespaced(t.Context(), staticResources(
		metav1.APIResource{Name: "a", Namespaced: true, Verbs: []string{"get", "list", "delete"}},
		metav1.APIResource{Name: "b", Namespaced: true, Verbs: []string{"list"}},
		metav1.APIResource{Name: "c", Verbs: []string{"list", "delete"}},
	), "list", "delete")
	want := []schema.GroupVersionResource{{Group: "x.example", Version: "v1", Resource: "a"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// staticResources serves resources of one group.
func staticResources(resources ...metav1.APIResource) discovery.DiscoveryInterfaceWithContext {
	fake := &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}
	fake.Resources = []*metav1.APIResourceList{{GroupVersion: "x.example/v1", APIResources: resources}}
	return discovery.ToDiscoveryInterfaceWithContext(fake)
}
