package loopback

import (
	"net/http"
	"sync"
)

// DeferredHandler is a handler that is not there yet: requests wait until Is has said what
// it is.
type DeferredHandler struct {
	once    sync.Once
	ready   chan struct{}
	handler http.Handler // final when there is closed
}

func NewDeferredHandler() *DeferredHandler { return &DeferredHandler{ready: make(chan struct{})} }

// Set says what the handler is. Only the first time counts.
func (l *DeferredHandler) Set(h http.Handler) {
	l.once.Do(func() {
		l.handler = h
		close(l.ready)
	})
}

func (l *DeferredHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	select {
	case <-l.ready:
		l.handler.ServeHTTP(w, req)
	case <-req.Context().Done():
		http.Error(w, "the request ended before anything could answer it", http.StatusServiceUnavailable)
	}
}
