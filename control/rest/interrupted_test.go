package rest

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil/interrupt"
)

func TestInterruptedRequestIsNotLogged(t *testing.T) {
	interrupt.Test(t, SnapshotPath, http.NotFoundHandler(), func(ctx context.Context, cfg *rest.Config) {
		client, err := NewClient(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Snapshot(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("got error %v, want %v", err, context.Canceled)
		}
	})
}
