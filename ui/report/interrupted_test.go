package report

import (
	"context"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil/interrupt"
)

func TestInterruptedRequestsAreNotLogged(t *testing.T) {
	interrupt.Test(t, "/api", http.NotFoundHandler(), func(ctx context.Context, cfg *rest.Config) {
		if s := ReadState(ctx, cfg, nil, nil); s.Incomplete() == nil {
			t.Error("nothing is missing")
		}
	})
}
