package apiserver

import (
	"context"
	"net/http"
	"sync"

	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/endpoints/responsewriter"
	"k8s.io/apiserver/pkg/server"
)

// maxUnwrittenBytes is how many bytes of events a watch decodes and buffers while its
// client does not read. Upstream's buffers count events, and hold two hundred of them.
const maxUnwrittenBytes = 8 << 20

// watchFlow tells the source of a watch whether its client reads. Upstream's buffers
// are between the two.
type watchFlow struct {
	wrote chan struct{} // receives a value after each write, unless one is pending

	mu        sync.Mutex
	writing   bool
	unwritten int // bytes of events since the last write ended
}

type watchFlowKey struct{}

// flowFrom returns the flow of the watch request that a context belongs to, or nil.
func flowFrom(ctx context.Context) *watchFlow {
	f, _ := ctx.Value(watchFlowKey{}).(*watchFlow)
	return f
}

// installWatchFlows gives each watch request a flow.
func installWatchFlows(config *server.RecommendedConfig) {
	wrapInside(config, withWatchFlow)
}

func withWatchFlow(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if info, ok := request.RequestInfoFrom(req.Context()); ok && info.Verb == "watch" {
			f := newWatchFlow()
			w = responsewriter.WrapForHTTP1Or2(flowWriter{w, f})
			req = req.WithContext(context.WithValue(req.Context(), watchFlowKey{}, f))
		}
		h.ServeHTTP(w, req)
	})
}

func newWatchFlow() *watchFlow { return &watchFlow{wrote: make(chan struct{}, 1)} }

// passOn adds events that are on their way to the client.
func (f *watchFlow) passOn(bytes int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unwritten += bytes
}

// isStalled reports whether no more events should be passed on until the next write
// has ended: a write waits for the client, and enough events are buffered behind it.
func (f *watchFlow) isStalled() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.writing && f.unwritten >= maxUnwrittenBytes
}

func (f *watchFlow) beginWrite() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writing = true
}

func (f *watchFlow) endWrite() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writing, f.unwritten = false, 0
	select {
	case f.wrote <- struct{}{}:
	default:
	}
}

// flowWriter reports to a flow when it writes.
type flowWriter struct {
	http.ResponseWriter
	flow *watchFlow
}

func (w flowWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w flowWriter) Write(p []byte) (int, error) {
	w.flow.beginWrite()
	defer w.flow.endWrite()
	return w.ResponseWriter.Write(p)
}

func (w flowWriter) Flush() {
	w.flow.beginWrite()
	defer w.flow.endWrite()
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}
