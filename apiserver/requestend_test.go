package apiserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
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

// A request that does not end although it is canceled does not keep Close waiting.
func TestCloseIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{ownWrites: &ownWrites{}, requestEnd: newRequestEnd(), cancel: func() {}, done: make(chan struct{})}
		if err := s.Close(); !errors.Is(err, errCloseTimeout) {
			t.Errorf("got %v", err)
		}
	})
}
