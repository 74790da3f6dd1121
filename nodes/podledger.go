package nodes

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

type podEntry struct {
	node    string
	version string // the resource version that was seen last
	ips     []lent
	ports   []hostPort  // that it holds; nil = not decided yet
	pod     *corev1.Pod // while something is due of it
	ending  bool        // its deletion is under way
	told    bool        // what is wrong with its annotations
}

// lent is an address and where it goes back to.
type lent struct {
	addr netip.Addr
	from *pool
}

// seePod takes in the state of a pod and returns what is due of it. wrong is what
// is wrong with its annotations, once. A pod that is seen again may be out of
// date; ok is whether the pod is to be heeded.
func (l *ledger) seePod(pod *corev1.Pod, again bool) (what due, wrong error, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[pod.UID]
	if again && (e == nil || e.version != pod.ResourceVersion) {
		return due{}, nil, false // deleted or newer: the watch is ahead of the list
	}
	if e == nil {
		e = &podEntry{node: pod.Spec.NodeName}
		l.pods[pod.UID] = e
		if l.onNode[e.node] == nil {
			l.onNode[e.node] = map[types.UID]*podEntry{}
		}
		l.onNode[e.node][pod.UID] = e
	}
	e.pod, e.version = nil, pod.ResourceVersion
	if node := l.nodes[e.node]; node == nil || !node.live {
		return due{}, nil, false
	}
	if !e.told {
		e.told = true
		_, wrong = behaviourOf(pod)
	}
	at := l.place(pod, e)
	if e.ending {
		return due{}, wrong, true
	}
	if what = podDue(pod, at, l.now()); what.stage != "" {
		e.pod = pod
	}
	return what, wrong, true
}

func (l *ledger) forgetPod(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[uid]
	if e == nil {
		return
	}
	e.giveBack()
	delete(l.pods, uid)
	delete(l.onNode[e.node], uid)
	if len(l.onNode[e.node]) == 0 {
		delete(l.onNode, e.node)
	}
}

// forgetPodsBut forgets the pods that are not among those.
func (l *ledger) forgetPodsBut(present map[types.UID]bool) {
	l.mu.Lock()
	var left []types.UID
	for uid := range l.pods {
		if !present[uid] {
			left = append(left, uid)
		}
	}
	l.mu.Unlock()
	for _, uid := range left {
		l.forgetPod(uid)
	}
}

// hasPods is whether pods of the node were seen.
func (l *ledger) hasPods(node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.onNode[node]) > 0
}

// duePod is a pod of which something is due, nil if nothing is any more.
func (l *ledger) duePod(uid types.UID) (*corev1.Pod, place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[uid]
	if e == nil || e.pod == nil {
		return nil, place{}, nil
	}
	if node := l.nodes[e.node]; node == nil || !node.live {
		return nil, place{}, fmt.Errorf("node %s "+gone, e.node)
	}
	e.ending = e.pod.DeletionTimestamp != nil
	return e.pod, l.place(e.pod, e), nil
}

// place gives a pod what it takes of its node, or takes it back when the pod has
// finished.
func (l *ledger) place(pod *corev1.Pod, e *podEntry) place {
	node := l.nodes[e.node]
	at := place{hostIPs: node.hostIPs()}
	if finished(pod) {
		e.giveBack()
		return at
	}
	if e.ports == nil {
		ports := hostPorts(pod)
		if at.portTaken = pod.Status.StartTime == nil && l.taken(e, ports); at.portTaken {
			return at
		}
		e.ports = ports
	}
	if pod.Spec.HostNetwork {
		at.podIPs = at.hostIPs
		return at
	}
	if len(e.ips) == 0 {
		l.lend(pod, e, podRanges(node.node))
	}
	for _, ip := range e.ips {
		at.podIPs = append(at.podIPs, ip.addr)
	}
	return at
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

func (e *podEntry) giveBack() {
	for _, ip := range e.ips {
		ip.from.free(ip.addr)
	}
	e.ips, e.ports = nil, nil
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

// podCount is how many pods are bound to a node.
func (l *ledger) podCount(node string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.onNode[node])
}
