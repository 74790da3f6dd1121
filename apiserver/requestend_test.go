package apiserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/ktesting"
)

// A request in flight has a few seconds to end when the server closes, and a later one
// is canceled at once.
func TestClosingServerCancelsRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newRequestEnd()
		causes := make(chan error, 1)
		h := e.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
			<-req.Context().Done()
			causes <- context.Cause(req.Context())
		}))
		serve := func() {
			h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", nil).WithContext(t.Context()))
		}
		go serve()
		synctest.Wait()
		began := time.Now()
		e.begin()
		e.begin()
		if err := <-causes; !errors.Is(err, errClosing) || time.Since(began) != requestGrace {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		go serve()
		if err := <-causes; !errors.Is(err, errClosing) {
			t.Error(err)
		}
		e.finish()
	})
}

// Only what was in flight when the time was over is reported, but for watches.
func TestOverdueRequestsAreReported(t *testing.T) {
	for name, end := range map[string]func(*requestEnd){
		"overdue": func(e *requestEnd) { e.begin(); <-e.ctx.Done() },
		"in time": func(e *requestEnd) { e.begin(); e.finish() },
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newRequestEnd()
			log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
			h := e.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }))
			for _, target := range []string{"/api/v1/pods", "/api/v1/nodes?watch=true"} {
				req := httptest.NewRequest(http.MethodPost, target, nil)
				go h.ServeHTTP(httptest.NewRecorder(), req.WithContext(klog.NewContext(t.Context(), log)))
			}
			synctest.Wait()
			end(e)
			synctest.Wait()
			printed := log.GetSink().(ktesting.Underlier).GetBuffer().String()
			if got, want := strings.Contains(printed, "/api/v1/pods"), name == "overdue"; got != want || strings.Contains(printed, "nodes") {
				t.Errorf("%s: printed %q", name, printed)
			}
		})
	}
}

// A request that does not end although it is canceled does not keep Close waiting.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{ownWrites: &ownWrites{}, requestEnd: newRequestEnd(), cancel: func() {}, done: make(chan struct{})}
		if err := s.Close(); !errors.Is(err, errCloseTimeout) {
			t.Errorf("got %v", err)
		}
	})
}
