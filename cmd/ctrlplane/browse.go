package main

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
	"github.com/ctrlplane/ctrlplane/ui/live"
)

// objectBrowser lists objects with their health for the live view.
type objectBrowser struct {
	waiter      *health.Waiter
	describeLog func(health.ContainerLog) string // as for describeNow
}

func newObjectBrowser(cfg *rest.Config, describeLog func(health.ContainerLog) string) (objectBrowser, error) {
	w, err := health.New(cfg)
	return objectBrowser{w, describeLog}, err
}

// Describe implements ui.Describer.
func (b objectBrowser) Describe(ctx context.Context, o observe.Object) ui.ObjectState {
	return describeNow(ctx, b.waiter, o, b.describeLog)
}

// Browse implements live.Browser.
func (b objectBrowser) Browse(ctx context.Context, kind string) (live.Listing, error) {
	found, err := b.waiter.List(ctx, kind)
	if err != nil {
		return live.Listing{}, err
	}
	l := live.Listing{Kind: found.Kind, Total: found.Total, Healthy: found.Healthy, More: found.More}
	for _, item := range found.Items {
		listed := live.ListedObject{
			Object: observe.Object{
				Group: found.Resource.Group, Resource: found.Resource.Resource, Kind: found.Kind,
				Namespace: item.Ref.Namespace, Name: item.Ref.Name, UID: item.UID,
			},
			Health: string(item.Status), Reason: item.Message, Created: item.Created,
		}
		l.Items = append(l.Items, listed)
	}
	return l, nil
}
