package nodes

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/sim/podconfig"
)

// allocatedIP is an address and the pool to release it to.
type allocatedIP struct {
	addr netip.Addr
	pool *addressPool
}

// sandboxRetryInterval is how often a Pod tries again to get an address.
const sandboxRetryInterval = 10 * time.Second

// keepPodIPs reserves the addresses that a Pod has.
func (r *podRegistry) keepPodIPs(pod *corev1.Pod, e *podEntry, ranges []netip.Prefix) {
	if len(e.ips) > 0 || pod.Spec.HostNetwork {
		return
	}
	for _, ip := range pod.Status.PodIPs {
		addr, err := netip.ParseAddr(ip.IP)
		if err != nil {
			continue
		}
		from := podIPRange // if the node got its pod CIDR later
		if i := slices.IndexFunc(ranges, func(p netip.Prefix) bool { return p.Contains(addr) }); i >= 0 {
			from = ranges[i]
		}
		r.podIPPool(from).reserve(addr)
		e.ips = append(e.ips, allocatedIP{addr, r.podIPPool(from)})
	}
}

// createSandbox allocates an address of each range for a Pod that has none: all or none.
func (r *podRegistry) createSandbox(pod *corev1.Pod, e *podEntry, ranges []netip.Prefix) {
	e.sandboxError = ""
	if r.keepPodIPs(pod, e, ranges); len(e.ips) > 0 {
		return
	}
	if _, err := podconfig.KernelHostname(pod); err != nil {
		e.sandboxError = err.Error()
		return
	}
	for _, prefix := range ranges {
		addr, ok := r.podIPPool(prefix).allocate()
		if !ok {
			e.sandboxError = fmt.Sprintf("no IP addresses available in range set: %v", prefix)
			r.releasePodIPs(e)
			return
		}
		e.ips = append(e.ips, allocatedIP{addr, r.podIPPool(prefix)})
	}
}

func (r *podRegistry) releasePodIPs(e *podEntry) {
	for _, ip := range e.ips {
		ip.pool.release(ip.addr)
	}
	e.ips = nil
}

func podRanges(node *corev1.Node) []netip.Prefix {
	var list []netip.Prefix
	for _, cidr := range node.Spec.PodCIDRs {
		if prefix, err := netip.ParsePrefix(cidr); err == nil {
			list = append(list, prefix.Masked())
		}
	}
	if list == nil {
		return []netip.Prefix{podIPRange}
	}
	return list
}

func (r *podRegistry) podIPPool(prefix netip.Prefix) *addressPool {
	if r.podIPPools[prefix] == nil {
		r.podIPPools[prefix] = newAddressPool(prefix)
	}
	return r.podIPPools[prefix]
}

// podIPs returns the addresses of a Pod; none if its node is not simulated.
func (r *podRegistry) podIPs(uid types.UID) []netip.Addr {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.pods[uid]
	if e == nil || e.duePod == nil && len(e.ips) == 0 {
		return nil
	}
	if e.duePod != nil && e.duePod.Spec.HostNetwork {
		return r.nodes[e.node].nodeIPs()
	}
	var addrs []netip.Addr
	for _, ip := range e.ips {
		addrs = append(addrs, ip.addr)
	}
	return addrs
}
