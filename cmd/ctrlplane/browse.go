package main

import (
	"context"

	"k8s.io/client-go/rest"

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
	w, err := health.New(cfg)
	return objectBrowser{w, cfg, t}, err
}

// Describe implements ui.Describer.
func (b objectBrowser) Describe(ctx context.Context, o observe.Object) ui.ObjectState {
	return describeNow(ctx, b.waiter, b.cfg, o, b.target)
}

// List implements live.Browser.
func (b objectBrowser) List(ctx context.Context, kind string) (health.Listing, error) {
	return b.waiter.List(ctx, kind)
}
