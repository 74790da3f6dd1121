package inspect

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/requestlog"
	"github.com/ctrlplane/ctrlplane/observe/replay"
)

// Resources returns the resources that an API server serves, in their preferred versions,
// by the names that its users call them. With an error the list is incomplete.
func Resources(ctx context.Context, cfg *rest.Config) ([]replay.Resource, error) {
	ctx = requestlog.Discard(ctx)
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("discover the resources of the API server: %w", err)
	}
	resources, err := kinds.Preferred(ctx, client)
	if err != nil {
		err = fmt.Errorf("discover the resources of the API server: %w", err)
	}
	var found []replay.Resource
	for _, r := range resources {
		found = append(found, replay.Resource{
			Group: r.Group, Version: r.Version, Resource: r.Name, Singular: r.SingularName, Kind: r.Kind,
			ShortNames: r.ShortNames, Namespaced: r.Namespaced,
		})
	}
	return found, err
}
