// Package recording reports to observe what a controller does: its API calls,
// the events that its handlers receive and the lines that it logs. Nothing in
// here changes what happens; package intervene does.
package recording

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/observe"
)

// ObserveCalls records the calls of cfg's clients; a nil recorder leaves cfg as
// it is. It returns cfg.
func ObserveCalls(cfg *rest.Config, recorder *observe.Recorder) *rest.Config {
	if recorder != nil {
		cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return callRecorder{next, recorder} })
	}
	return cfg
}

// callRecorder is a transport that records its calls.
type callRecorder struct {
	next     http.RoundTripper
	recorder *observe.Recorder
}

func (c callRecorder) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	described := describeRequest(req)
	call := &described
	call.Began = time.Now()
	if observe.IsForUser(req.Context()) {
		call.Controller, call.Client = observe.Own, &observe.Caller{}
	}
	switch {
	case IsNewEvent(call):
		call.Event = describeSentEvent(req)
	case IsBinding(call):
		call.BoundTo = describeSentBinding(req)
	case IsLeaseUpdate(call):
		call.TakenBy = describeSentLease(req)
	}
	c.recorder.Call(call, func() {
		resp, err = c.send(req, call) //nolint:bodyclose // it is returned
		call.Took = time.Since(call.Began)
		if err != nil {
			call.Error = err.Error()
			call.Canceled = !call.IsWrite() && errors.Is(req.Context().Err(), context.Canceled)
			return
		}
		call.Status = resp.StatusCode
		if call.IsWrite() || call.Failed() {
			PeekResponse(resp).AddTo(call)
		}
		if call.Failed() && call.Verb == "create" && call.Object.Name == "" {
			call.Object.Name = describeSentName(req)
		}
	})
	return resp, err
}

// describedTransport is a transport that asks what a request is about, as the gate of interventions does. It receives
// that with the request, which is parsed once then, and says how long it has held the call.
type describedTransport interface {
	RoundTripDescribed(req *http.Request, call *observe.Called) (*http.Response, error)
}

func (c callRecorder) send(req *http.Request, call *observe.Called) (*http.Response, error) {
	if next, ok := c.next.(describedTransport); ok {
		return next.RoundTripDescribed(req, call)
	}
	return c.next.RoundTrip(req)
}

// requestInfoFactory parses requests as the API server does.
var requestInfoFactory = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

// DescribeRequest returns the verb and the object of a request.
func DescribeRequest(req *http.Request) *observe.Called {
	call := describeRequest(req)
	return &call
}

func describeRequest(req *http.Request) observe.Called {
	info, err := requestInfoFactory.NewRequestInfo(req)
	if err != nil || !info.IsResourceRequest {
		return observe.Called{Verb: methodVerbs[req.Method], Object: observe.Object{Resource: req.URL.Path}}
	}
	if info.Resource == "namespaces" && info.APIGroup == "" { // RequestInfo puts a namespace into itself
		info.Namespace = ""
	}
	known := builtInKinds()[schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}]
	version := ""
	if known.kind == "" { // the versions of a custom resource may differ in their subresources
		version = unique.Make(info.APIVersion).Value()
	}
	return observe.Called{
		Verb:        info.Verb,
		Version:     version,
		Subresource: unique.Make(info.Subresource).Value(),
		Selected:    info.Verb == "deletecollection" && (info.LabelSelector != "" || info.FieldSelector != ""),
		Object: observe.Object{
			Group:     cmp.Or(known.group, info.APIGroup),
			Resource:  cmp.Or(known.resource, info.Resource),
			Kind:      known.kind,
			Namespace: unique.Make(info.Namespace).Value(), // as a part of the URL it would keep that
			Name:      info.Name,
		},
	}
}

// methodVerbs are the verbs of requests that are for no resource.
var methodVerbs = map[string]string{
	http.MethodGet:    "get",
	http.MethodHead:   "get",
	http.MethodPost:   "create",
	http.MethodPut:    "update",
	http.MethodPatch:  "patch",
	http.MethodDelete: "delete",
}

// builtInKind names a built-in kind.
type builtInKind struct{ group, resource, kind string }

// builtInKinds returns the kinds of the built-in resources.
var builtInKinds = sync.OnceValue(func() map[schema.GroupVersionResource]builtInKind {
	all := map[schema.GroupVersionResource]builtInKind{}
	for gvk, gvr := range builtInResources() {
		all[gvr] = builtInKind{gvr.Group, gvr.Resource, gvk.Kind}
	}
	return all
})

// builtInResources returns the resources of the built-in kinds.
var builtInResources = sync.OnceValue(func() map[schema.GroupVersionKind]schema.GroupVersionResource {
	all := map[schema.GroupVersionKind]schema.GroupVersionResource{}
	for gvk := range scheme.Scheme.AllKnownTypes() {
		all[gvk], _ = meta.UnsafeGuessKindToResource(gvk)
	}
	return all
})
