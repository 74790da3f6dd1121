package rest

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
)

// A rate limit in the configuration does not delay the client.
func TestClientHasNoRateLimit(t *testing.T) {
	srv := httptest.NewServer(Handler(Services{Nodes: fakeNodes{}}))
	t.Cleanup(srv.Close)
	const perDay = 1.0 / 24 / 3600
	for name, cfg := range map[string]*rest.Config{
		"QPS":         {QPS: perDay, Burst: 1},
		"RateLimiter": {RateLimiter: flowcontrol.NewTokenBucketRateLimiter(perDay, 1)},
	} {
		cfg.Host = srv.URL
		client, err := NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		for range 2 {
			if _, err := client.Nodes().List(ctx); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A request that is not valid is a bad request to callers, too.
func TestUsageErrorIsBadRequest(t *testing.T) {
	err := newTestClient(t, Services{Nodes: fakeNodes{}}).Nodes().Fail(t.Context(), "bad")
	if !apierrors.IsBadRequest(err) {
		t.Errorf("got %v, want a bad request", err)
	}
	if err := newTestClient(t, Services{Nodes: fakeNodes{}}).Nodes().Recover(t.Context(), "broken"); err == nil || apierrors.IsBadRequest(err) {
		t.Errorf("got %v, want another error", err)
	}
}
