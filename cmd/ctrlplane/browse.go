package main

import (
	"context"

	"k8s.io/client-go/rest"

	controlrest "github.com/ctrlplane/ctrlplane/control/rest"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// objectBrowser lists objects with their health for the live view.
type objectBrowser struct {
	waiter *health.Waiter
	cfg    *rest.Config
	target *target // as for describeNow
}

func newObjectBrowser(cfg *rest.Config, t *target) (objectBrowser, error) {
	w, err := newWaiter(cfg)
	return objectBrowser{w, cfg, t}, err
}

// newWaiter returns a waiter that also knows which controllers of the control plane do not run.
func newWaiter(cfg *rest.Config) (*health.Waiter, error) {
	w, err := health.New(cfg)
	if err != nil {
		return nil, err
	}
	client, err := controlrest.NewClient(cfg)
	if err != nil {
		return nil, err
	}
	return w.WithRecords(client), nil
}

// Describe implements ui.Describer.
func (b objectBrowser) Describe(ctx context.Context, o observe.Object) ui.ObjectState {
	return describeNow(ctx, b.waiter, b.cfg, o, b.target)
}

// List implements live.Browser.
func (b objectBrowser) List(ctx context.Context, kind string) (health.Listing, error) {
	return b.waiter.List(ctx, kind)
}
