package cloud

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	cloudprovider "k8s.io/cloud-provider"
)

// routeTable keeps the routes that the route controller creates. No packet takes them.
type routeTable struct {
	mu    sync.Mutex
	known sets.Set[route]
}

// route is a route to the Pods of a node.
type route struct {
	node types.NodeName
	cidr string
}

func (r *routeTable) ListRoutes(context.Context, string) ([]*cloudprovider.Route, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*cloudprovider.Route, 0, len(r.known))
	for k := range r.known {
		list = append(list, &cloudprovider.Route{
			Name:            string(k.node) + "-" + k.cidr,
			TargetNode:      k.node,
			DestinationCIDR: k.cidr,
		})
	}
	return list, nil
}

func (r *routeTable) CreateRoute(_ context.Context, _, _ string, to *cloudprovider.Route) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.Insert(route{to.TargetNode, to.DestinationCIDR})
	return nil
}

func (r *routeTable) DeleteRoute(_ context.Context, _ string, to *cloudprovider.Route) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known.Delete(route{to.TargetNode, to.DestinationCIDR})
	return nil
}
