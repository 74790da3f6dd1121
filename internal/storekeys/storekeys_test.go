package storekeys

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestParse(t *testing.T) {
	type want struct{ prefix, resource, namespace, name string }
	for key, want := range map[string]want{
		"/pods/default/web":               {"pods", "pods", "default", "web"},
		"/minions/node-1":                 {"minions", "nodes", "", "node-1"},
		"/controllers/default/rc":         {"controllers", "replicationcontrollers", "default", "rc"},
		"/services/specs/default/web":     {"services/specs", "services", "default", "web"},
		"/services/endpoints/default/web": {"services/endpoints", "endpoints", "default", "web"},
		"/deployments/default/web":        {"deployments", "deployments.apps", "default", "web"},
		"/ingress/default/i":              {"ingress", "ingresses.networking.k8s.io", "default", "i"},
		"/events/default/e":               {"events", "events", "default", "e"},
		"/leases/kube-node-lease/node-1":  {"leases", "leases.coordination.k8s.io", "kube-node-lease", "node-1"},
		"/clusterroles/system:node":       {"clusterroles", "clusterroles.rbac.authorization.k8s.io", "", "system:node"},
		"/namespaces/a":                   {Namespaces, "namespaces", "", "a"},
		"/secrets/a/b":                    {Secrets, "secrets", "a", "b"},
		"/" + CustomResourceDefinitions + "/widgets.example.com": {CustomResourceDefinitions, "customresourcedefinitions.apiextensions.k8s.io", "", "widgets.example.com"},
		"/" + APIServices + "/v1.apps":                           {APIServices, "apiservices.apiregistration.k8s.io", "", "v1.apps"},
		"/" + APIServices + "/v1.":                               {APIServices, "apiservices.apiregistration.k8s.io", "", "v1."},
		"/example.com/widgets/default/w":                         {"example.com/widgets", "widgets.example.com", "default", "w"},
		"/ranges/serviceips":                                     {"ranges/serviceips", "", "", ""},
		"/masterleases/127.0.0.1":                                {"masterleases", "", "", "127.0.0.1"},
		"/peerserverleases/apiserver-x":                          {"peerserverleases", "", "", "apiserver-x"},
		"/health":                                                {"health", "", "", ""},
		"/":                                                      {},
		"":                                                       {},
	} {
		k := Parse(key)
		got := [...]string{k.ResourcePrefix, k.Resource(), k.Namespace(), k.Name()}
		if got != [...]string{want.prefix, want.resource, want.namespace, want.name} {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
		below, ok := ParseBelow(DefaultPrefix, DefaultPrefix+key)
		if ok != strings.HasPrefix(key, "/") || ok && below != k {
			t.Errorf("%s below the prefix: got %q, %v", key, below, ok)
		}
	}
	for _, key := range []string{"compact_rev_key", "/registry-other/pods/a/b", "/registry"} {
		if k, ok := ParseBelow(DefaultPrefix, key); ok {
			t.Errorf("%s: got %+v, want none", key, k)
		}
	}
}

func TestPrefixOf(t *testing.T) {
	for _, tc := range []struct{ group, resource, want string }{
		{"", "pods", "pods"},
		{"", "nodes", "minions"},
		{"", "services", "services/specs"},
		{"apps", "deployments", "deployments"},
		{"networking.k8s.io", "ingresses", "ingress"},
		{"", "events", Events},
		{"events.k8s.io", "events", Events},
		{"apiregistration.k8s.io", "apiservices", APIServices},
		{"apiextensions.k8s.io", "customresourcedefinitions", CustomResourceDefinitions},
		{"example.com", "widgets", "example.com/widgets"},
		{"serving.knative.dev", "services", "serving.knative.dev/services"},
		{"snapshot.storage.k8s.io", "volumesnapshots", "snapshot.storage.k8s.io/volumesnapshots"},
		{"gateway.networking.k8s.io", "gateways", "gateway.networking.k8s.io/gateways"},
	} {
		if got := PrefixOf(tc.group, tc.resource); got != tc.want {
			t.Errorf("%s of %q: got %s, want %s", tc.resource, tc.group, got, tc.want)
		}
	}
}

// The prefix of each resource leads back to the resource, or to the one that shares
// the prefix.
func TestPrefixAndResourceAgree(t *testing.T) {
	for _, of := range builtin {
		for _, resource := range of.resources {
			prefix := PrefixOf(of.group, resource)
			key := Parse("/" + prefix + "/x")
			if key.ResourcePrefix != prefix || key.Name() != "x" {
				t.Errorf("%s: %q is split into %q", resource, prefix, key)
			}
			if got, want := key.Resource(), resourceName(of.group, resource); got != want && want != "events.events.k8s.io" {
				t.Errorf("prefix %q: got %s, want %s", prefix, got, want)
			}
		}
	}
}

// A new Kubernetes minor release may add built-in resources. They belong in the
// table: writes to a resource that is missing are not counted.
func TestTableHasAllBuiltInResources(t *testing.T) {
	known := map[string]bool{
		// Not stored.
		"apigroups": true, "componentstatuses": true,
	}
	for _, of := range builtin {
		for _, resource := range of.resources {
			known[resourceName(of.group, resource)] = true
		}
	}
	seen := map[string]bool{}
	for kind := range scheme.Scheme.AllKnownTypes() {
		list := kind
		list.Kind += "List"
		if kind.Version == runtime.APIVersionInternal || kind.Group == "extensions" || !scheme.Scheme.Recognizes(list) {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(kind)
		name := plural.GroupResource().String()
		seen[name] = true
		if !known[name] {
			t.Errorf("%s is missing in the table of built-in resources", name)
		}
	}
	for name := range known {
		if !seen[name] {
			t.Errorf("%s is in the table, but not a built-in resource", name)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if k, ok := ParseBelow(DefaultPrefix, "/registry/deployments/default/web"); !ok || k.Resource() == "" {
			b.Fatal(k)
		}
	}
}
