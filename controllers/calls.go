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

// ObserveCalls makes cfg's calls known to a recorder; nil leaves it as it is.
func ObserveCalls(cfg *rest.Config, by *observe.Recorder) *rest.Config {
	if by != nil {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return callRecorder{next, by} })
	}
	return cfg
}

// InterceptCalls makes cfg's calls pass a gate. What Observed takes down is what
// the controller meets, so it comes after.
func InterceptCalls(cfg *rest.Config, g *Gate) *rest.Config {
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return gateTransport{next, g} })
	return cfg
}

// callRecorder takes down the calls of one controller.
type callRecorder struct {
	next     http.RoundTripper
	recorder *observe.Recorder
}

// requestInfoFactory reads the verb and the object off a request, as the API server does.
var requestInfoFactory = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

func (c callRecorder) RoundTrip(req *http.Request) (*http.Response, error) {
	call := DescribeRequest(req)
	call.Began = time.Now()
	defer c.recorder.BeginCall(call)()
	resp, err := c.next.RoundTrip(req)
	call.Took = time.Since(call.Began)
	if err != nil {
		call.Error = err.Error()
		c.recorder.RecordCall(call)
		return resp, err
	}
	call.Status = resp.StatusCode
	if call.IsWrite() || call.Failed() {
		answer, body := PeekResponse(resp)
		resp.Body = body
		answer.AddTo(call)
	}
	c.recorder.RecordCall(call)
	return resp, nil
}

func DescribeRequest(req *http.Request) *observe.Called {
	info, err := requestInfoFactory.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return &observe.Called{Verb: methodVerbs[req.Method], Object: observe.Object{Resource: req.URL.Path}}
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
			Kind:      builtInKinds()[gvr],
			Namespace: info.Namespace,
			Name:      info.Name,
		},
	}
}

// methodVerbs are those of requests for no resource.
var methodVerbs = map[string]string{
	http.MethodGet:    "get",
	http.MethodHead:   "get",
	http.MethodPost:   "create",
	http.MethodPut:    "update",
	http.MethodPatch:  "patch",
	http.MethodDelete: "delete",
}

// builtInKinds are the kinds of the built-in resources.
var builtInKinds = sync.OnceValue(func() map[schema.GroupVersionResource]string {
	all := map[schema.GroupVersionResource]string{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		all[plural] = gvk.Kind
	}
	return all
})
