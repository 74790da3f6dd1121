package nodes

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lent is an address and where it goes back to.
type lent struct {
	addr netip.Addr
	from *pool
}

// lend lets the pod keep the addresses that it has, or gives it one of each range.
func (l *ledger) lend(pod *corev1.Pod, e *podEntry, ranges []netip.Prefix) {
	for _, ip := range pod.Status.PodIPs {
		addr, err := netip.ParseAddr(ip.IP)
		if err != nil {
			continue
		}
		from := podRange // of a node that has got its pod CIDR later
		if i := slices.IndexFunc(ranges, func(p netip.Prefix) bool { return p.Contains(addr) }); i >= 0 {
			from = ranges[i]
		}
		l.pool(from).mark(addr)
		e.ips = append(e.ips, lent{addr, l.pool(from)})
	}
	if len(e.ips) > 0 {
		return
	}
	for _, prefix := range ranges {
		if addr, ok := l.pool(prefix).take(); ok {
			e.ips = append(e.ips, lent{addr, l.pool(prefix)})
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
		return []netip.Prefix{podRange}
	}
	return list
}

func (l *ledger) pool(prefix netip.Prefix) *pool {
	if l.pools[prefix] == nil {
		l.pools[prefix] = newPool(prefix)
	}
	return l.pools[prefix]
}

// podIPs are the addresses of a pod; none of one that is not simulated.
func (l *ledger) podIPs(uid types.UID) []netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[uid]
	if e == nil || e.pod == nil && len(e.ips) == 0 {
		return nil
	}
	if e.pod != nil && e.pod.Spec.HostNetwork {
		return l.nodes[e.node].hostIPs()
	}
	var addrs []netip.Addr
	for _, ip := range e.ips {
		addrs = append(addrs, ip.addr)
	}
	return addrs
}
