package apiserver

import (
	"bytes"
	"encoding/json"
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

// Where the OpenAPI documents are served.
const (
	openAPIV2 = "/openapi/v2"
	openAPIV3 = "/openapi/v3"
)

// openAPIDocuments are the OpenAPI documents of the built-in kinds. To build them is
// half of what a start allocates and a third of its CPU time, and few processes
// are asked for them: the first request builds them, with upstream's builder.
type openAPIDocuments struct {
	config        routes.OpenAPI
	container     *restful.Container // holds the built-in kinds' routes
	paths         map[string]bool    // that version 3 has a document for
	v2, v3        func() http.Handler
	customHandler http.Handler // version 3 of custom resources
	built         atomic.Bool  // v3 is
	// releaseDefinitions ends the sharing of version 2's definitions, which each server would
	// build anew, when the start is through.
	releaseDefinitions func()
}

// deferOpenAPI takes the building out of the start, and a place in front of
// upstream's routing. The documents are there once they are installed, which is
// before anything is served.
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
	front := config.Aggregator.GenericConfig
	chain := front.BuildHandlerChainFunc
	front.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler {
		return chain(d.withDocuments(h), cfg)
	}
	return d
}

// install makes the documents known to front, which merges those of all servers.
func (d *openAPIDocuments) install(front *aggregatorapiserver.APIAggregator) error {
	kinds, ok := front.GenericAPIServer.NextDelegate().(*server.GenericAPIServer)
	if !ok {
		return fmt.Errorf("apiserver: behind the aggregator is a %T", front.GenericAPIServer.NextDelegate())
	}
	d.container = kinds.Handler.GoRestfulContainer
	d.customHandler = kinds.NextDelegate().UnprotectedHandler()
	d.paths = map[string]bool{}
	for _, service := range d.container.RegisteredWebServices() {
		d.paths[strings.TrimPrefix(service.RootPath(), "/")] = true
	}
	// The aggregator merges version 2 when it is asked for it, but looks for
	// version 3 once a second: of that one it is not told.
	kinds.Handler.NonGoRestfulMux.HandleFunc(openAPIV2, func(w http.ResponseWriter, req *http.Request) { d.v2().ServeHTTP(w, req) })
	kinds.Handler.NonGoRestfulMux.HandleFunc(openAPIV3, func(w http.ResponseWriter, req *http.Request) { writeDiscovery(w, req, emptyDiscovery()) })
	return nil
}

func emptyDiscovery() handler3.OpenAPIV3Discovery {
	return handler3.OpenAPIV3Discovery{Paths: map[string]handler3.OpenAPIV3DiscoveryGroupVersion{}}
}

// withDocuments serves version 3 of the built-in kinds and of custom resources, at
// once; everything else is the aggregator's, which looks once a second.
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

// hasCustomDocument tells whether path has a document of custom resources.
func (d *openAPIDocuments) hasCustomDocument(req *http.Request, path string) bool {
	list, err := readDiscovery(d.customHandler, req)
	_, ok := list.Paths[path]
	return ok && err == nil // else the aggregator says what is wrong
}

// instrumentHandler counts requests as upstream's aggregator does.
func instrumentHandler(path string, h http.HandlerFunc) http.Handler {
	return metrics.InstrumentHandlerFunc("GET", "", "", "", strings.TrimPrefix(path, "/"), "", "", false, "", h)
}

// serveMerged lists the documents of all servers.
func (d *openAPIDocuments) serveMerged(w http.ResponseWriter, req *http.Request, next http.Handler) {
	list := emptyDiscovery()
	parts := []http.Handler{next, d.customHandler}
	if who, ok := request.UserFrom(req.Context()); ok && who.GetName() == user.APIServerUser && !d.built.Load() {
		// Admission looks every few seconds for what it may need one day.
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

// readDiscovery asks h what documents of version 3 it has.
func readDiscovery(h http.Handler, req *http.Request) (list handler3.OpenAPIV3Discovery, err error) {
	inner := req.Clone(req.Context())
	inner.Header = http.Header{} // the whole of it, in the plain form
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
