package apiserver

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
)

const (
	// requestGrace is how long the requests in flight may take once the server closes.
	// Without a limit, a write that hangs in a webhook takes as long as the webhook may.
	requestGrace = 3 * time.Second
	// closeTimeout bounds Close: a request may not end although it is canceled.
	closeTimeout = 15 * time.Second
)

var (
	errClosing      = errors.New("the API server is closing")
	errOverdue      = errors.New("requests in flight have not ended in time")
	errCloseTimeout = errors.New("apiserver: requests have not ended 15 s after they were canceled: continuing without them")
)

// requestEnd cancels the requests of a server that closes.
type requestEnd struct {
	ctx    context.Context // ends when requests are canceled
	cancel context.CancelCauseFunc
	once   sync.Once
	timer  *time.Timer // set by begin
}

func newRequestEnd() *requestEnd {
	e := &requestEnd{}
	e.ctx, e.cancel = context.WithCancelCause(context.Background())
	return e
}

func installRequestEnd(config *server.RecommendedConfig) *requestEnd {
	e := newRequestEnd()
	wrapOutside(config, e.wrap)
	return e
}

func (e *requestEnd) wrap(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		ctx, cancel := context.WithCancelCause(req.Context())
		defer cancel(nil)
		late, report := e.ctx.Err() != nil, canceledReport(req)
		stop := context.AfterFunc(e.ctx, func() {
			cancel(errClosing)
			if !late && errors.Is(context.Cause(e.ctx), errOverdue) {
				report()
			}
		})
		defer stop()
		h.ServeHTTP(w, req.WithContext(ctx))
	})
}

// canceledReport returns a function that says which request has kept the server from closing. Watches from
// inside the process only end with the controllers that wait for their other requests. It reads the request
// now: handlers change it.
func canceledReport(req *http.Request) func() {
	if req.TLS == nil && req.URL.Query().Has("watch") {
		return func() {}
	}
	began, log := time.Now(), klog.FromContext(req.Context())
	method, path, agent := req.Method, req.URL.Path, req.UserAgent()
	return func() {
		log.Info("request canceled because the API server is closing", "method", method, "path", path, "userAgent", agent, "duration", time.Since(began))
	}
}

// begin cancels requests from requestGrace on.
func (e *requestEnd) begin() {
	e.once.Do(func() { e.timer = time.AfterFunc(requestGrace, func() { e.cancel(errOverdue) }) })
}

// finish cancels the requests that are left. It must follow begin.
func (e *requestEnd) finish() {
	e.timer.Stop()
	e.cancel(errClosing)
}
