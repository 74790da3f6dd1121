// Package cloud is a simulated cloud provider. It gives addresses to Services, keeps
// routes, and knows which machines exist, so that upstream's cloud controllers can
// work without a cloud.
package cloud

import (
	"cmp"
	"net"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	cloudprovider "k8s.io/cloud-provider"
	netutils "k8s.io/utils/net"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

const (
	providerName = "ctrlplane"
	// DefaultRanges are the default of Config.Ranges: ranges that RFC 5737 and RFC
	// 3849 reserve for documentation. No host has such an address, so that it cannot
	// be taken for one that answers.
	DefaultRanges = "203.0.113.0/24,2001:db8:1b::/112"
)

// Config configures a Provider.
type Config struct {
	// Ranges are the CIDRs of the addresses of load balancers, separated by commas;
	// empty means DefaultRanges.
	Ranges string
	// PodCIDR contains the ranges of nodes: routes are kept for these. Neither it nor
	// ServiceCIDR may overlap with Ranges. Both may be lists.
	PodCIDR, ServiceCIDR string
}

// Provider is the cloud. Its controllers can be built and run again and again.
type Provider struct {
	podCIDRs []*net.IPNet
	balancer *loadBalancer
	routes   *routeTable
}

var _ cloudprovider.Interface = (*Provider)(nil)

// New checks cfg and returns a provider without any allocated address.
func New(cfg Config) (*Provider, error) {
	podCIDRs, err := netutils.ParseCIDRs(strings.Split(cfg.PodCIDR, ","))
	if err != nil {
		return nil, usage.Errorf("pod CIDR: %w", err)
	}
	ranges, err := parseRanges(cmp.Or(cfg.Ranges, DefaultRanges))
	if err != nil {
		return nil, err
	}
	if err := checkOverlap(ranges, "Services", cfg.ServiceCIDR); err != nil {
		return nil, err
	}
	if err := checkOverlap(ranges, "Pods", cfg.PodCIDR); err != nil {
		return nil, err
	}
	return &Provider{
		podCIDRs: podCIDRs,
		balancer: &loadBalancer{allocator: newAddressAllocator(ranges)},
		routes:   &routeTable{known: sets.New[route]()},
	}, nil
}

// Initialize does nothing: Build gives the controllers what they need.
func (p *Provider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// LoadBalancer returns the load balancers.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return p.balancer, true }

// InstancesV2 returns the machines.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return instances{}, true }

// Routes returns the routes to the Pods of nodes.
func (p *Provider) Routes() (cloudprovider.Routes, bool) { return p.routes, true }

// Instances returns nothing: upstream uses InstancesV2 instead.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones returns nothing: nodes are created with their zones.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters returns nothing: there is one cluster.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// ProviderName is "ctrlplane".
func (p *Provider) ProviderName() string { return providerName }

// HasClusterID is true: no other cluster shares the cloud.
func (p *Provider) HasClusterID() bool { return true }
