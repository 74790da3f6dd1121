// Package cloud is a small cloud provider that is nowhere: it gives Services
// addresses, nodes routes and says which nodes exist, so that upstream's cloud
// loops have something to work with.
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
	// ProviderName is how the provider calls itself.
	ProviderName = "ctrlplane"
	// DefaultRanges are where load balancers get their addresses from unless told
	// otherwise: ranges that RFC 5737 and RFC 3849 keep for documentation. No host
	// and no network has them, so that nobody takes one for something that answers.
	DefaultRanges = "203.0.113.0/24,2001:db8:1b::/112"
)

// Config says what the provider has.
type Config struct {
	// Ranges are the CIDRs that load balancers get addresses from, with commas
	// between them; empty = DefaultRanges.
	Ranges string
	// PodCIDR is what nodes get their ranges from: routes are kept for these.
	// ServiceCIDR, like it, must not overlap with Ranges. Both may be a list.
	PodCIDR, ServiceCIDR string
}

// Provider is the cloud. Its loops may be built, run and ended again and again.
type Provider struct {
	podCIDRs []*net.IPNet
	balancer *loadBalancer
	routes   *routeTable
}

var _ cloudprovider.Interface = (*Provider)(nil)

// New checks cfg and returns a provider that has given nothing away yet.
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
		balancer: &loadBalancer{newAddressAllocator(ranges)},
		routes:   &routeTable{known: sets.New[route]()},
	}, nil
}

// Initialize does nothing: the loops are given what they need.
func (p *Provider) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// LoadBalancer gives Services addresses.
func (p *Provider) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return p.balancer, true }

// InstancesV2 knows which nodes exist.
func (p *Provider) InstancesV2() (cloudprovider.InstancesV2, bool) { return instances{}, true }

// Routes remembers the routes to the nodes' Pods.
func (p *Provider) Routes() (cloudprovider.Routes, bool) { return p.routes, true }

// Instances is not there: InstancesV2 is.
func (p *Provider) Instances() (cloudprovider.Instances, bool) { return nil, false }

// Zones is not there: nodes come with their zones.
func (p *Provider) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters is not there: there is one.
func (p *Provider) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// ProviderName is "ctrlplane".
func (p *Provider) ProviderName() string { return ProviderName }

// HasClusterID is true: nothing is shared with another cluster.
func (p *Provider) HasClusterID() bool { return true }
