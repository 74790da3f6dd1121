package loopback

import (
	"net/http"
	"sync"
)

// Late is a handler that is not there yet: requests wait until Is has said what
// it is.
type Late struct {
	once    sync.Once
	there   chan struct{}
	handler http.Handler // final when there is closed
}

func NewLate() *Late { return &Late{there: make(chan struct{})} }

// Is says what the handler is. Only the first time counts.
func (l *Late) Is(h http.Handler) {
	l.once.Do(func() {
		l.handler = h
		close(l.there)
	})
}

func (l *Late) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	select {
	case <-l.there:
		l.handler.ServeHTTP(w, req)
	case <-req.Context().Done():
		http.Error(w, "the request ended before anything could answer it", http.StatusServiceUnavailable)
	}
}
