package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/kubernetes/pkg/controlplane"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// isTestGroup reports whether another test has added an API group.
func isTestGroup(group string) bool {
	return strings.HasSuffix(group, customGroup) || group == "metrics.k8s.io"
}

// The golden file has every resource, subresource and verb of upstream's stable APIs
// (api/discovery in its repository), without those behind feature gates that are
// off by default.
func TestDiscovery(t *testing.T) {
	t.Parallel()
	client, err := discovery.NewDiscoveryClientForConfig(controlPlane.config)
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // of an API that another test is removing
		t.Fatal(err)
	}
	var lines []string
	for _, l := range lists {
		if group, _, ok := strings.Cut(l.GroupVersion, "/"); ok && isTestGroup(group) {
			continue
		}
		for _, r := range l.APIResources {
			scope := "cluster"
			if r.Namespaced {
				scope = "namespaced"
			}
			lines = append(lines, strings.Join([]string{l.GroupVersion, r.Name, r.Kind, scope, strings.Join(r.Verbs, ",")}, " "))
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	testutil.Golden(t, "testdata/resources.txt", []byte(got))
}

// Exactly the versions that upstream enables by default are served.
func TestDiscoveryVersions(t *testing.T) {
	t.Parallel()
	want := map[string]bool{"apiextensions.k8s.io/v1": true, "apiregistration.k8s.io/v1": true} // served by the two delegated servers
	for gv, on := range controlplane.DefaultAPIResourceConfigSource().GroupVersionConfigs {
		if on {
			want[gv.String()] = true
		}
	}
	got := map[string]bool{"v1": strings.Contains(httpGet(t, controlPlane.config, "/api").Body, `"v1"`)}
	var groups metav1.APIGroupList
	decodeBody(t, httpGet(t, controlPlane.config, "/apis"), &groups)
	for _, g := range groups.Groups {
		for _, v := range g.Versions {
			if !isTestGroup(g.Name) {
				got[v.GroupVersion] = true
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-upstream +got:\n%s", diff)
	}
}

// Aggregated discovery lists everything in one response.
func TestAggregatedDiscovery(t *testing.T) {
	t.Parallel()
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for path, want := range map[string]struct{ group, resource, subresource string }{
		"/api":  {"", "pods", "eviction"},
		"/apis": {"apps", "deployments", "scale"},
	} {
		a := httpGet(t, controlPlane.config, path, accept)
		var l apidiscoveryv2.APIGroupDiscoveryList
		decodeBody(t, a, &l)
		if got := a.Header.Get("Content-Type"); got != accept || a.Header.Get("ETag") == "" {
			t.Errorf("%s: content type %q, ETag %q", path, got, a.Header.Get("ETag"))
		}
		if !hasSubresource(l, want.group, want.resource, want.subresource) {
			t.Errorf("%s: no %s/%s of group %q", path, want.resource, want.subresource, want.group)
		}
	}
}

func hasSubresource(l apidiscoveryv2.APIGroupDiscoveryList, group, resource, subresource string) bool {
	for _, g := range l.Items {
		for _, v := range g.Versions {
			for _, r := range v.Resources {
				if g.Name == group && r.Resource == resource && slices.ContainsFunc(r.Subresources, func(s apidiscoveryv2.APISubresourceDiscovery) bool {
					return s.Subresource == subresource
				}) {
					return v.Freshness == apidiscoveryv2.DiscoveryFreshnessCurrent
				}
			}
		}
	}
	return false
}

func decodeBody(t *testing.T, a httpResponse, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.Body), into); err != nil {
		t.Fatalf("%d %.200s: %v", a.Code, a.Body, err)
	}
}

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	var v2 struct {
		Swagger     string
		Paths       map[string]any
		Definitions map[string]any
	}
	decodeBody(t, httpGet(t, controlPlane.config, "/openapi/v2"), &v2)
	if v2.Swagger != "2.0" || v2.Definitions["io.k8s.api.apps.v1.Deployment"] == nil || v2.Paths["/apis/apps/v1/namespaces/{namespace}/deployments"] == nil {
		t.Errorf("OpenAPI %q with %d paths and %d definitions has no Deployment", v2.Swagger, len(v2.Paths), len(v2.Definitions))
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	decodeBody(t, httpGet(t, controlPlane.config, "/openapi/v3"), &index)
	for gv, on := range controlplane.DefaultAPIResourceConfigSource().GroupVersionConfigs {
		path := "apis/" + gv.String()
		if gv.Group == "" {
			path = "api/v1"
		}
		entry, ok := index.Paths[path]
		if ok != on {
			t.Errorf("OpenAPI v3 of %s: served %t, want %t", path, ok, on)
		}
		if !on || !ok {
			continue
		}
		var v3 struct {
			OpenAPI    string
			Components struct{ Schemas map[string]any }
		}
		decodeBody(t, httpGet(t, controlPlane.config, entry.ServerRelativeURL), &v3)
		if !strings.HasPrefix(v3.OpenAPI, "3.") || len(v3.Components.Schemas) == 0 {
			t.Errorf("OpenAPI v3 of %s: version %q, %d schemas", path, v3.OpenAPI, len(v3.Components.Schemas))
		}
	}
}
