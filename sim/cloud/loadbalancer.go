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

// retryInterval is how soon a Service that got no address asks again. Upstream
// would wait for longer each time, up to 5 minutes.
const retryInterval = 5 * time.Second

// loadBalancer is load balancers without the load: an address is all they have.
type loadBalancer struct{ allocator *addressAllocator }

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
	if len(families) == 0 { // as before dual stack
		families = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	addrs, err := b.allocator.assign(ownerOf(service), families, wanted)
	if errors.As(err, new(notFreeError)) {
		return nil, cloudproviderapi.NewRetryError(err.Error(), retryInterval)
	}
	if err != nil {
		return nil, err
	}
	return newStatus(addrs), nil
}

// UpdateLoadBalancer does nothing: no traffic goes to the nodes.
func (b *loadBalancer) UpdateLoadBalancer(context.Context, string, *corev1.Service, []*corev1.Node) error {
	return nil
}

func (b *loadBalancer) EnsureLoadBalancerDeleted(_ context.Context, _ string, service *corev1.Service) error {
	b.allocator.release(service.UID)
	return nil
}

// adopt takes over from an earlier run what the Services' status says that they
// have. Where two have one address, it is that of the older Service.
func (b *loadBalancer) adopt(services []*corev1.Service) {
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
			// What does not parse is not from here.
			if addr, err := netip.ParseAddr(ingress.IP); err == nil {
				addrs = append(addrs, addr.Unmap())
			}
		}
		b.allocator.claim(ownerOf(s), addrs)
	}
}

func ownerOf(s *corev1.Service) owner { return owner{s.UID, s.Namespace + "/" + s.Name} }

// wantedAddresses reads the addresses that a Service asks for.
func wantedAddresses(s *corev1.Service) ([]netip.Addr, error) {
	source, list := "spec.loadBalancerIP", s.Spec.LoadBalancerIP
	if key, value, _ := annotations.Lookup(s.Annotations, annotations.LoadBalancerIPs); value != "" {
		source, list = "annotation "+key, value
	}
	if list == "" {
		return nil, nil
	}
	var wanted []netip.Addr
	for text := range strings.SplitSeq(list, ",") {
		addr, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %q is no IP address", source, text)
		}
		addr = addr.Unmap()
		if slices.ContainsFunc(wanted, func(w netip.Addr) bool { return familyOf(w) == familyOf(addr) }) {
			return nil, fmt.Errorf("%s: %q has two addresses of %s: give one", source, list, familyOf(addr))
		}
		wanted = append(wanted, addr)
	}
	return wanted, nil
}

// newStatus has the mode that the API server would fill in: one without it would
// be patched again at every sync.
func newStatus(addrs []netip.Addr) *corev1.LoadBalancerStatus {
	mode := corev1.LoadBalancerIPModeVIP
	s := &corev1.LoadBalancerStatus{}
	for _, addr := range addrs {
		s.Ingress = append(s.Ingress, corev1.LoadBalancerIngress{IP: addr.String(), IPMode: &mode})
	}
	return s
}
