package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func newTestClient(t *testing.T, f http.HandlerFunc) *apiClient {
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return &apiClient{url: s.URL, transport: &http.Transport{}, client: s.Client()}
}

func TestDeleteAndWaitPollsUntilNotFound(t *testing.T) {
	var gets atomic.Int32
	a := newTestClient(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && gets.Add(1) > 3 {
			w.WriteHeader(http.StatusNotFound)
		}
	})
	if _, err := a.deleteAndWait(t.Context(), "/x", time.Millisecond); err != nil || gets.Load() != 4 {
		t.Errorf("after %d requests: %v, want 4 requests", gets.Load(), err)
	}
}

func TestAwaitDeletedStopsWithContext(t *testing.T) {
	a := newTestClient(t, func(http.ResponseWriter, *http.Request) {})
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("interrupted")
	cancel(enough)
	if err := a.awaitDeleted(ctx, "/x", time.Millisecond); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

func TestDeleteAndWaitReportsRefusal(t *testing.T) {
	a := newTestClient(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	if _, err := a.deleteAndWait(t.Context(), "/x", time.Millisecond); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("got %v", err)
	}
}

func TestCreateObjectReturnsUID(t *testing.T) {
	answer := `{"metadata":{"uid":"u1"}}`
	a := newTestClient(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
	if uid, err := a.createObject(t.Context(), "/x", "{}"); uid != "u1" || err != nil {
		t.Errorf("got %q, %v", uid, err)
	}
	answer = "<html>"
	if _, err := a.createObject(t.Context(), "/x", "{}"); err == nil {
		t.Error("no error although the response is not JSON")
	}
}

func TestQuantile(t *testing.T) {
	var hundred []float64
	for i := range 100 {
		hundred = append(hundred, float64(100-i))
	}
	for _, tt := range []struct {
		values []float64
		q      float64
		want   float64
	}{{hundred, 0.5, 50}, {hundred, 0.99, 99}, {hundred, 0, 1}, {[]float64{7}, 0.99, 7}} {
		if got := quantile(tt.values, tt.q); got != tt.want {
			t.Errorf("%v of %d values: got %v, want %v", tt.q, len(tt.values), got, tt.want)
		}
	}
}
