package apiserver

import (
	"net/http"

	"k8s.io/apiserver/pkg/server"
)

// wrapInside puts what wrap returns between upstream's filters and its routing.
func wrapInside(config *server.RecommendedConfig, wrap func(http.Handler) http.Handler) {
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler { return build(wrap(h), cfg) }
}

// wrapOutside puts what wrap returns in front of upstream's filters.
func wrapOutside(config *server.RecommendedConfig, wrap func(http.Handler) http.Handler) {
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler { return wrap(build(h, cfg)) }
}
