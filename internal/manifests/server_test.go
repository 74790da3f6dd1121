package manifests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// fakeServer is as much of an API server as Apply needs: discovery, patches, and reading
// CustomResourceDefinitions.
type fakeServer struct {
	t      *testing.T
	config *rest.Config
	// answer may reject a patch; it receives its path and the number of patches before it.
	answer func(path string, before int) *metav1.Status
	// lag is how often a new CustomResourceDefinition is read until it is established,
	// and then how often discovery is read until it lists the kind.
	lag int

	mu      sync.Mutex
	kinds   []fakeKind
	crds    map[string]map[string]any
	reads   map[string]int
	count   map[string]int // patches by path
	patches []string       // "/path?query" of those that were accepted
	bodies  []map[string]any
}

type fakeKind struct {
	groupVersion, kind, plural string
	namespaced                 bool
	lag                        int // how often discovery leaves it out
}

func newFakeServer(t *testing.T) *fakeServer {
	s := &fakeServer{
		t: t,
		kinds: []fakeKind{
			{"v1", "Namespace", "namespaces", false, 0},
			{"v1", "ConfigMap", "configmaps", true, 0},
			{"v1", "Pod", "pods", true, 0},
			{"v1", "Service", "services", true, 0},
			{"apps/v1", "Deployment", "deployments", true, 0},
			{"rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", false, 0},
			{"apiextensions.k8s.io/v1", "CustomResourceDefinition", "customresourcedefinitions", false, 0},
			{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations", false, 0},
		},
		crds:  map[string]map[string]any{},
		reads: map[string]int{},
		count: map[string]int{},
	}
	s.config = &rest.Config{Host: "http://fake", Transport: s, QPS: -1}
	return s
}

// RoundTrip implements http.RoundTripper, without a connection: the clock may be synctest's.
func (s *fakeServer) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = "", "" // as servers receive it
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	return w.Result(), nil
}

// CloseIdleConnections does nothing, as there are none.
func (s *fakeServer) CloseIdleConnections() {}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	if agent := r.UserAgent(); strings.HasPrefix(agent, "Go-http-client") {
		s.t.Errorf("%s %s: the user agent is %q", r.Method, r.URL, agent)
	}
	switch {
	case r.Method == http.MethodPatch:
		s.servePatch(w, r)
	case r.Method != http.MethodGet:
		http.NotFound(w, r)
	case r.URL.Path == crds:
		list := map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinitionList", "items": []any{}}
		for _, crd := range s.crds {
			list["items"] = append(list["items"].([]any), crd)
		}
		s.reply(w, http.StatusOK, list)
	case strings.HasPrefix(r.URL.Path, crds+"/"):
		s.serveCRD(w, strings.TrimPrefix(r.URL.Path, crds+"/"))
	default:
		s.serveDiscovery(w, r)
	}
}

func (s *fakeServer) reply(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		s.t.Error(err)
	}
}

func (s *fakeServer) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	groups := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroupList"}}
	resources := map[string]*metav1.APIResourceList{}
	for i, k := range s.kinds {
		group, version, grouped := strings.Cut(k.groupVersion, "/")
		path := "/apis/" + k.groupVersion
		if !grouped {
			group, version, path = "", k.groupVersion, "/api/"+k.groupVersion
		}
		if resources[path] == nil {
			resources[path] = &metav1.APIResourceList{
				TypeMeta:     metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"},
				GroupVersion: k.groupVersion,
			}
			if grouped {
				gv := metav1.GroupVersionForDiscovery{GroupVersion: k.groupVersion, Version: version}
				groups.Groups = append(groups.Groups, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv})
			}
		}
		if k.lag > 0 {
			if r.URL.Path == path {
				s.kinds[i].lag--
			}
			continue
		}
		resources[path].APIResources = append(resources[path].APIResources, metav1.APIResource{Name: k.plural, Kind: k.kind, Namespaced: k.namespaced})
	}
	switch r.URL.Path {
	case "/api":
		s.reply(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case "/apis":
		s.reply(w, http.StatusOK, groups)
	default:
		if list := resources[r.URL.Path]; list != nil {
			s.reply(w, http.StatusOK, list)
			return
		}
		http.NotFound(w, r)
	}
}

func (s *fakeServer) servePatch(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Content-Type"); got != "application/apply-patch+yaml" {
		s.t.Errorf("PATCH %s has content type %s", r.URL.Path, got)
	}
	data, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Error(err)
	}
	var body map[string]any
	if err := yaml.Unmarshal(data, &body); err != nil { // as the API server reads it
		s.t.Error(err)
	}
	before := s.count[r.URL.Path]
	s.count[r.URL.Path]++
	if s.answer != nil {
		if status := s.answer(r.URL.Path, before); status != nil {
			if status.Message == "404 page not found" { // no handler, no Status
				http.NotFound(w, r)
				return
			}
			status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
			status.Status = metav1.StatusFailure
			s.reply(w, int(status.Code), status)
			return
		}
	}
	s.patches = append(s.patches, r.URL.String())
	s.bodies = append(s.bodies, body)
	if body["kind"] == "CustomResourceDefinition" {
		s.crds[body["metadata"].(map[string]any)["name"].(string)] = body
	}
	s.reply(w, http.StatusOK, body)
}

// serveCRD answers with a CustomResourceDefinition, which is established after lag reads.
func (s *fakeServer) serveCRD(w http.ResponseWriter, name string) {
	crd := s.crds[name]
	if crd == nil {
		s.reply(w, http.StatusNotFound, metav1.Status{Status: metav1.StatusFailure, Code: 404, Reason: metav1.StatusReasonNotFound})
		return
	}
	s.reads[name]++
	if s.reads[name] == s.lag+1 {
		crd["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "NamesAccepted", "status": "True"},
			map[string]any{"type": "Established", "status": "True"},
		}}
		s.addKind(crd, s.lag)
	}
	s.reply(w, http.StatusOK, crd)
}

// addKind adds to discovery what a CustomResourceDefinition defines.
func (s *fakeServer) addKind(crd map[string]any, lag int) {
	spec := crd["spec"].(map[string]any)
	names := spec["names"].(map[string]any)
	for _, v := range spec["versions"].([]any) {
		s.kinds = append(s.kinds, fakeKind{
			groupVersion: fmt.Sprintf("%s/%s", spec["group"], v.(map[string]any)["name"]),
			kind:         names["kind"].(string),
			plural:       names["plural"].(string),
			namespaced:   spec["scope"] == "Namespaced",
			lag:          lag,
		})
	}
}
