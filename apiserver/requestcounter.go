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
	wrapOutside(config, func(chain http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			c.n.Add(1)
			chain.ServeHTTP(w, req)
		})
	})
	return c
}
