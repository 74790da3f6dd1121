package apiserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
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

// Only what was in flight when the time was over is reported, but for watches from inside the
// process.
func TestOverdueRequestsAreReported(t *testing.T) {
	requests := []*http.Request{
		httptest.NewRequest(http.MethodPost, "/api/v1/pods", nil),
		httptest.NewRequest(http.MethodGet, "/api/v1/nodes?watch=true", nil),
		httptest.NewRequest(http.MethodGet, "https://localhost/api/v1/services?watch=true", nil),
	}
	const late = "/api/v1/events"
	for name, test := range map[string]struct {
		end  func(*requestEnd)
		want []string
	}{
		"overdue": {func(e *requestEnd) { e.begin(); <-e.ctx.Done() }, []string{"/api/v1/pods", "/api/v1/services"}},
		"in time": {func(e *requestEnd) { e.begin(); e.finish() }, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newRequestEnd()
			log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
			h := e.wrap(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }))
			serve := func(req *http.Request) {
				h.ServeHTTP(httptest.NewRecorder(), req.WithContext(klog.NewContext(t.Context(), log)))
			}
			for _, req := range requests {
				go serve(req)
			}
			synctest.Wait()
			test.end(e)
			serve(httptest.NewRequest(http.MethodPost, late, nil))
			synctest.Wait()
			printed := log.GetSink().(ktesting.Underlier).GetBuffer().String()
			for _, path := range []string{"/api/v1/pods", "/api/v1/nodes", "/api/v1/services", late} {
				if got := strings.Contains(printed, path); got != slices.Contains(test.want, path) {
					t.Errorf("%s: %s is printed: %v: %q", name, path, got, printed)
				}
			}
		})
	}
}

// Handlers change the request that they serve, such as its header and its path.
func TestReportOfARequestThatHandlersChange(t *testing.T) {
	log := ktesting.NewLogger(t, ktesting.NewConfig(ktesting.BufferLogs(true)))
	req := httptest.NewRequest(http.MethodPost, "/api/v1/pods", nil)
	req.Header.Set("User-Agent", "operator")
	report := canceledReport(req.WithContext(klog.NewContext(t.Context(), log)))
	req.Header.Set("User-Agent", "changed")
	req.Method, req.URL.Path, req.URL.RawQuery = http.MethodGet, "/changed", "watch=true"
	report()
	printed := log.GetSink().(ktesting.Underlier).GetBuffer().String()
	for _, want := range []string{"POST", "/api/v1/pods", "operator"} {
		if !strings.Contains(printed, want) || strings.Contains(printed, "changed") {
			t.Errorf("printed %q, want %s", printed, want)
		}
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
