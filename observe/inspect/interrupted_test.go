package inspect

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil/interrupt"
	"github.com/ctrlplane/ctrlplane/observe"
)

func TestInterruptedRequestsAreNotLogged(t *testing.T) {
	for name, request := range map[string]func(context.Context, *rest.Config) error{
		"Inspect": func(ctx context.Context, cfg *rest.Config) error {
			i, err := New(cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, err = i.Inspect(ctx, observe.Object{Kind: "Pod", Namespace: "shop", Name: "p"})
			return err
		},
		"Resources": func(ctx context.Context, cfg *rest.Config) error {
			_, err := Resources(ctx, cfg)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			interrupt.Test(t, "/api", http.NotFoundHandler(), func(ctx context.Context, cfg *rest.Config) {
				if err := request(ctx, cfg); !errors.Is(err, context.Canceled) {
					t.Errorf("got error %v, want %v", err, context.Canceled)
				}
			})
		})
	}
}
