package apiserver

import (
	"net/http"
	"sync/atomic"

	"k8s.io/apiserver/pkg/server"
)

// requestCounter counts the requests that enter the handler chain.
type requestCounter struct{ n atomic.Int64 }

func installRequestCounter(config *server.RecommendedConfig) *requestCounter {
	c := &requestCounter{}
	build := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(h http.Handler, cfg *server.Config) http.Handler {
		chain := build(h, cfg)
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			c.n.Add(1)
			chain.ServeHTTP(w, req)
		})
	}
	return c
}
