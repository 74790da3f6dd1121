package nodes

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// allocatedIP is an address and where it goes back to.
type allocatedIP struct {
	addr netip.Addr
	pool *addressPool
}

// allocatePodIPs lets the pod keep the addresses that it has, or gives it one of each range.
func (l *podRegistry) allocatePodIPs(pod *corev1.Pod, e *podEntry, ranges []netip.Prefix) {
	for _, ip := range pod.Status.PodIPs {
		addr, err := netip.ParseAddr(ip.IP)
		if err != nil {
			continue
		}
		from := podIPRange // of a node that has got its pod CIDR later
		if i := slices.IndexFunc(ranges, func(p netip.Prefix) bool { return p.Contains(addr) }); i >= 0 {
			from = ranges[i]
		}
		l.podIPPool(from).reserve(addr)
		e.ips = append(e.ips, allocatedIP{addr, l.podIPPool(from)})
	}
	if len(e.ips) > 0 {
		return
	}
	for _, prefix := range ranges {
		if addr, ok := l.podIPPool(prefix).allocate(); ok {
			e.ips = append(e.ips, allocatedIP{addr, l.podIPPool(prefix)})
		}
	}
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

func (l *podRegistry) podIPPool(prefix netip.Prefix) *addressPool {
	if l.podIPPools[prefix] == nil {
		l.podIPPools[prefix] = newAddressPool(prefix)
	}
	return l.podIPPools[prefix]
}

// podIPs are the addresses of a pod; none of one that is not simulated.
func (l *podRegistry) podIPs(uid types.UID) []netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[uid]
	if e == nil || e.duePod == nil && len(e.ips) == 0 {
		return nil
	}
	if e.duePod != nil && e.duePod.Spec.HostNetwork {
		return l.nodes[e.node].nodeIPs()
	}
	var addrs []netip.Addr
	for _, ip := range e.ips {
		addrs = append(addrs, ip.addr)
	}
	return addrs
}
