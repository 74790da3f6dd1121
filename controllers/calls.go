package controllers

import (
	"net/http"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Observed makes cfg's calls known to a recorder; nil leaves it as it is.
func Observed(cfg *rest.Config, by *observe.Recorder) *rest.Config {
	if by != nil {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return caller{next, by} })
	}
	return cfg
}

// throughGate makes cfg's calls pass a gate. What Observed takes down is what
// the controller meets, so it comes after.
func throughGate(cfg *rest.Config, g *gate) *rest.Config {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return gated{next, g} })
	return cfg
}

// caller takes down the calls of one controller.
type caller struct {
	next http.RoundTripper
	by   *observe.Recorder
}

// requests reads the verb and the object off a request, as the API server does.
var requests = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

func (c caller) RoundTrip(req *http.Request) (*http.Response, error) {
	call := describe(req)
	call.Began = time.Now()
	defer c.by.Calling(call)()
	resp, err := c.next.RoundTrip(req)
	call.Took = time.Since(call.Began)
	if err != nil {
		call.Error = err.Error()
		c.by.Called(call)
		return resp, err
	}
	call.Status = resp.StatusCode
	if call.Write() || call.Failed() {
		answer, body := peek(resp)
		resp.Body = body
		answer.tell(call)
	}
	c.by.Called(call)
	return resp, nil
}

func describe(req *http.Request) *observe.Called {
	info, err := requests.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return &observe.Called{Verb: verbs[req.Method], Object: observe.Object{Resource: req.URL.Path}}
	}
	if info.Resource == "namespaces" { // upstream counts each as its own
		info.Namespace = ""
	}
	gvr := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	return &observe.Called{
		Verb:        info.Verb,
		Subresource: info.Subresource,
		Object: observe.Object{
			Group:     info.APIGroup,
			Resource:  info.Resource,
			Kind:      kinds()[gvr],
			Namespace: info.Namespace,
			Name:      info.Name,
		},
	}
}

// verbs are those of requests for no resource.
var verbs = map[string]string{
	http.MethodGet:    "get",
	http.MethodHead:   "get",
	http.MethodPost:   "create",
	http.MethodPut:    "update",
	http.MethodPatch:  "patch",
	http.MethodDelete: "delete",
}

// kinds are the kinds of the built-in resources.
var kinds = sync.OnceValue(func() map[schema.GroupVersionResource]string {
	all := map[schema.GroupVersionResource]string{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		all[plural] = gvk.Kind
	}
	return all
})
