package health

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/testutil/interrupt"
)

func TestInterruptedRequestsAreNotLogged(t *testing.T) {
	served := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(discoveryAnswers[r.URL.Path]); err != nil {
			t.Error(err)
		}
	})
	for _, tc := range []struct {
		name, path string
		request    func(context.Context, *Waiter) error
	}{
		{"List", "/api/v1/pods", func(ctx context.Context, w *Waiter) error {
			_, err := w.List(ctx, "pods")
			return err
		}},
		{"Examine", "/api/v1/namespaces/shop/pods/p", func(ctx context.Context, w *Waiter) error {
			_, err := w.Examine(ctx, "pod", "shop", "p")
			return err
		}},
		{"WhyOf", "/apis/apps/v1/namespaces/shop/replicasets", func(ctx context.Context, w *Waiter) error {
			w.WhyOf(ctx)(parseObject(t, justMade))
			return ctx.Err()
		}},
		{"FindStuck", "/api/v1/namespaces", func(ctx context.Context, w *Waiter) error {
			_, err := w.FindStuck(ctx, Candidates{})
			return err
		}},
		{"Wait", "/api/v1/namespaces/shop/pods", func(ctx context.Context, w *Waiter) error {
			return w.Wait(ctx, []Ref{podP}, Options{})
		}},
		{"Refs", "/api/v1", func(ctx context.Context, w *Waiter) error {
			_, err := w.Refs(ctx, "shop", []string{"pod/p"})
			return err
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			interrupt.Test(t, tc.path, served, func(ctx context.Context, cfg *rest.Config) {
				w, err := New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				if err := tc.request(ctx, w); !errors.Is(err, context.Canceled) {
					t.Errorf("got error %v, want %v", err, context.Canceled)
				}
			})
		})
	}
}
