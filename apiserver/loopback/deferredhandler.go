package loopback

import (
	"net/http"
	"sync"
)

// DeferredHandler is a handler that can be called before it exists. Requests wait
// until Set is called, or until they are canceled.
type DeferredHandler struct {
	once    sync.Once
	ready   chan struct{}
	handler http.Handler // final when ready is closed
}

// NewDeferredHandler returns a handler that has not been set.
func NewDeferredHandler() *DeferredHandler { return &DeferredHandler{ready: make(chan struct{})} }

// Set sets the handler. Only the first call has an effect.
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
		http.Error(w, "the request was canceled before the API server was assembled", http.StatusServiceUnavailable)
	}
}
