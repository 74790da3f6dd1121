package apiserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/emicklei/go-restful/v3"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/metrics"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/mux"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/apiserver/pkg/util/responsewriter"
	aggregatorapiserver "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/handler3"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// Paths of the OpenAPI documents.
const (
	openAPIV2 = "/openapi/v2"
	openAPIV3 = "/openapi/v3"
)

// openAPIDocuments builds the OpenAPI documents of the built-in kinds at the first
// request, with upstream's builder. Upstream builds them during the start, where they
// take a third of the CPU time and half of the allocations. Few processes need them.
type openAPIDocuments struct {
	config        routes.OpenAPI
	container     *restful.Container // has the routes of the built-in kinds
	paths         map[string]bool    // the API groups that have a document of version 3
	v2, v3        func() http.Handler
	customHandler http.Handler // serves version 3 of custom resources
	built         atomic.Bool  // whether v3 is
	// releaseDefinitions frees the definitions of version 2, which the servers share
	// during the start: otherwise each builds its own.
	releaseDefinitions func()
}

// deferOpenAPI keeps upstream from building the documents and puts a handler in front
// of its routing. Call registerDocuments before the server serves.
func deferOpenAPI(config *app.Config) *openAPIDocuments {
	generic := config.KubeAPIs.ControlPlane.Generic
	generic.SkipOpenAPIInstallation = true
	d := &openAPIDocuments{config: routes.OpenAPI{Config: generic.OpenAPIConfig, V3Config: generic.OpenAPIV3Config}}
	d.v2 = sync.OnceValue(func() http.Handler {
		m := mux.NewPathRecorderMux("openapi v2")
		d.config.InstallV2(d.container, m)
		return m
	})
	d.v3 = sync.OnceValue(func() http.Handler {
		m := mux.NewPathRecorderMux("openapi v3")
		d.config.InstallV3(d.container, m)
		d.built.Store(true)
		return m
	})
	define := generic.OpenAPIConfig.GetDefinitions
	var defined map[string]common.OpenAPIDefinition
	generic.OpenAPIConfig.GetDefinitions = func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		if defined == nil {
			defined = define(ref)
		}
		return defined
	}
	d.releaseDefinitions = func() { defined, generic.OpenAPIConfig.GetDefinitions = nil, define }
	wrapInside(config.Aggregator.GenericConfig, d.withDocuments)
	return d
}

// registerDocuments registers the documents with the aggregator, which merges those of all
// servers.
func (d *openAPIDocuments) registerDocuments(front *aggregatorapiserver.APIAggregator) error {
	kinds, ok := front.GenericAPIServer.NextDelegate().(*server.GenericAPIServer)
	if !ok {
		return fmt.Errorf("apiserver: OpenAPI: the aggregator delegates to a %T in this version of Kubernetes: see docs/upstream-hooks.md", front.GenericAPIServer.NextDelegate())
	}
	d.container = kinds.Handler.GoRestfulContainer
	d.customHandler = kinds.NextDelegate().UnprotectedHandler()
	d.paths = map[string]bool{}
	for _, service := range d.container.RegisteredWebServices() {
		d.paths[strings.TrimPrefix(service.RootPath(), "/")] = true
	}
	if !d.paths["api/v1"] {
		return errors.New("apiserver: OpenAPI: the aggregator does not delegate to the server of the built-in kinds in this version of Kubernetes: see docs/upstream-hooks.md")
	}
	// The aggregator merges version 2 per request, but polls version 3 once a second.
	// It gets an empty version 3, so that polling does not build the documents.
	kinds.Handler.NonGoRestfulMux.HandleFunc(openAPIV2, func(w http.ResponseWriter, req *http.Request) { d.v2().ServeHTTP(w, req) })
	kinds.Handler.NonGoRestfulMux.HandleFunc(openAPIV3, func(w http.ResponseWriter, req *http.Request) { writeDiscovery(w, req, emptyDiscovery()) })
	return nil
}

func emptyDiscovery() handler3.OpenAPIV3Discovery {
	return handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
}

// withDocuments serves version 3 of the built-in kinds and of custom resources, which
// are always up to date, and leaves all other requests to the aggregator.
func (d *openAPIDocuments) withDocuments(next http.Handler) http.Handler {
	own := instrumentHandler(openAPIV3+"/", func(w http.ResponseWriter, req *http.Request) { d.v3().ServeHTTP(w, req) })
	custom := instrumentHandler(openAPIV3+"/", func(w http.ResponseWriter, req *http.Request) { d.customHandler.ServeHTTP(w, req) })
	root := instrumentHandler(openAPIV3, func(w http.ResponseWriter, req *http.Request) { d.serveMerged(w, req, next) })
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		path, below := strings.CutPrefix(req.URL.Path, openAPIV3+"/")
		switch {
		case req.URL.Path == openAPIV3:
			root.ServeHTTP(w, req)
		case below && d.paths[path]:
			own.ServeHTTP(w, req)
		case below && d.hasCustomDocument(req, path):
			custom.ServeHTTP(w, req)
		default:
			next.ServeHTTP(w, req)
		}
	})
}

// hasCustomDocument reports whether path has a document of custom resources.
func (d *openAPIDocuments) hasCustomDocument(req *http.Request, path string) bool {
	list, err := readDiscovery(d.customHandler, req)
	_, ok := list.Paths[path]
	return ok && err == nil // after an error, the aggregator's answer says what is wrong
}

// instrumentHandler adds the metrics that upstream's aggregator has.
func instrumentHandler(path string, h http.HandlerFunc) http.Handler {
	return metrics.InstrumentHandlerFunc("GET", "", "", "", strings.TrimPrefix(path, "/"), "", "", false, "", h)
}

// serveMerged lists the documents of all servers.
func (d *openAPIDocuments) serveMerged(w http.ResponseWriter, req *http.Request, next http.Handler) {
	list := emptyDiscovery()
	parts := []http.Handler{next, d.customHandler}
	if who, ok := request.UserFrom(req.Context()); ok && who.GetName() == user.APIServerUser && !d.built.Load() {
		// Admission polls the list every few seconds. It must not build the documents.
		for path := range d.paths {
			list.Paths[path] = handler3.OpenAPIV3DiscoveryGroupVersion{ServerRelativeURL: openAPIV3 + "/" + path}
		}
	} else {
		parts = append(parts, d.v3())
	}
	for _, h := range parts {
		part, err := readDiscovery(h, req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		maps.Copy(list.Paths, part.Paths)
	}
	writeDiscovery(w, req, list)
}

// readDiscovery returns the list of documents of version 3 that h serves.
func readDiscovery(h http.Handler, req *http.Request) (list handler3.OpenAPIV3Discovery, err error) {
	inner := req.Clone(req.Context())
	inner.Header = http.Header{} // unconditional, and not compressed
	inner.URL.Path = openAPIV3
	got := responsewriter.NewInMemoryResponseWriter()
	h.ServeHTTP(got, inner)
	if got.RespCode() != http.StatusOK {
		return list, fmt.Errorf("openapi: status %d: %s", got.RespCode(), got.Data())
	}
	return list, json.Unmarshal(got.Data(), &list)
}

func writeDiscovery(w http.ResponseWriter, req *http.Request, list handler3.OpenAPIV3Discovery) {
	data, err := json.Marshal(list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	http.ServeContent(w, req, openAPIV3, time.Now(), bytes.NewReader(data))
}
