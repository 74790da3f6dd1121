package cloud

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"
	servicehelpers "k8s.io/cloud-provider/service/helpers"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
)

// retryInterval is how soon a Service without an address is retried. Upstream would
// back off up to 5 minutes.
const retryInterval = 5 * time.Second

// loadBalancer implements load balancers that have addresses but no traffic.
type loadBalancer struct {
	allocator *addressAllocator
}

func (b *loadBalancer) GetLoadBalancerName(_ context.Context, _ string, service *corev1.Service) string {
	return cloudprovider.DefaultLoadBalancerName(service)
}

func (b *loadBalancer) GetLoadBalancer(_ context.Context, _ string, service *corev1.Service) (*corev1.LoadBalancerStatus, bool, error) {
	addrs := b.allocator.heldBy(service.UID)
	return newStatus(addrs), len(addrs) > 0, nil
}

func (b *loadBalancer) EnsureLoadBalancer(_ context.Context, _ string, service *corev1.Service, _ []*corev1.Node) (*corev1.LoadBalancerStatus, error) {
	wanted, err := wantedAddresses(service)
	if err != nil {
		return nil, err
	}
	families := service.Spec.IPFamilies
	if len(families) == 0 { // stored before dual stack
		families = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	addrs, err := b.allocator.assignAddresses(ownerOf(service), families, wanted)
	if errors.As(err, new(notFreeError)) {
		return nil, cloudproviderapi.NewRetryError(err.Error(), retryInterval)
	}
	if err != nil {
		return nil, err
	}
	return newStatus(addrs), nil
}

// UpdateLoadBalancer does nothing: no traffic goes to nodes.
func (b *loadBalancer) UpdateLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) error {
	return nil
}

func (b *loadBalancer) EnsureLoadBalancerDeleted(_ context.Context, _ string, service *corev1.Service) error {
	b.allocator.release(service.UID)
	return nil
}

// adoptAddresses allocates the addresses that Services have in their status from an earlier
// run. If two Services have the same address, the older one keeps it.
func (b *loadBalancer) adoptAddresses(services []*corev1.Service) {
	b.allocator.reset()
	byAge := slices.Clone(services)
	slices.SortFunc(byAge, func(x, y *corev1.Service) int {
		if c := x.CreationTimestamp.Compare(y.CreationTimestamp.Time); c != 0 {
			return c
		}
		return strings.Compare(ownerOf(x).name, ownerOf(y).name)
	})
	for _, s := range byAge {
		ours := s.Spec.Type == corev1.ServiceTypeLoadBalancer && s.Spec.LoadBalancerClass == nil
		if !ours && !servicehelpers.HasLBFinalizer(s) {
			continue
		}
		var addrs []netip.Addr
		for _, ingress := range s.Status.LoadBalancer.Ingress {
			// An address that cannot be parsed is not of this provider.
			if addr, err := netip.ParseAddr(ingress.IP); err == nil {
				addrs = append(addrs, addr.Unmap())
			}
		}
		b.allocator.claimAddresses(ownerOf(s), addrs)
	}
}

func ownerOf(s *corev1.Service) owner { return owner{s.UID, s.Namespace + "/" + s.Name} }

// wantedAddresses returns the addresses that a Service requests.
func wantedAddresses(s *corev1.Service) ([]netip.Addr, error) {
	source, list := "spec.loadBalancerIP", s.Spec.LoadBalancerIP
	if value := s.Annotations[annotations.LoadBalancerIPs]; value != "" {
		source, list = "annotation "+annotations.LoadBalancerIPs, value
	}
	if list == "" {
		return nil, nil
	}
	var wanted []netip.Addr
	for text := range strings.SplitSeq(list, ",") {
		addr, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %q is not an IP address", source, text)
		}
		addr = addr.Unmap()
		if slices.ContainsFunc(wanted, func(w netip.Addr) bool { return familyOf(w) == familyOf(addr) }) {
			return nil, fmt.Errorf("%s: %q has two %s addresses: give one", source, list, familyOf(addr))
		}
		wanted = append(wanted, addr)
	}
	return wanted, nil
}

// newStatus returns a status with the IP mode that the API server defaults. Without
// it, the controller would patch the status at every sync.
func newStatus(addrs []netip.Addr) *corev1.LoadBalancerStatus {
	mode := corev1.LoadBalancerIPModeVIP
	s := &corev1.LoadBalancerStatus{}
	for _, addr := range addrs {
		s.Ingress = append(s.Ingress, corev1.LoadBalancerIngress{IP: addr.String(), IPMode: &mode})
	}
	return s
}
