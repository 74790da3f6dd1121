package nodes

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"

	"github.com/ctrlplane/ctrlplane/sim/annotations"
	"github.com/ctrlplane/ctrlplane/sim/podhttp"
)

// updateTable keeps what a Pod answers to HTTP requests.
func (r *podRegistry) updateTable(pod *corev1.Pod, at placement) {
	text, ok := pod.Annotations[annotations.HTTP]
	if !ok && !r.commands.HTTP.Has(pod.UID) {
		return
	}
	running := !podutil.IsPodTerminal(pod) && slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.State.Running != nil })
	r.commands.HTTP.Set(podhttp.Pod{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Addresses: at.podIPs, Running: running,
	}, text)
}

// isReserved reports whether only a Pod on a simulated node can have an address: it may have finished, and its
// status still has an address that is free again. Of the ranges that no API object names, other machines may have
// addresses: there, only those count that were allocated.
func (r *podRegistry) isReserved(addr netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodeIPPool.hasAllocated(addr) {
		return true
	}
	for prefix, pool := range r.podIPPools {
		if pool.used[addr] || pool.hasAllocated(addr) || prefix != podIPRange && prefix.Contains(addr) {
			return !r.isRangeOfOthers(prefix)
		}
	}
	return false
}

// isRangeOfOthers reports whether the range of a simulated node has become that of a node with a kubelet.
func (r *podRegistry) isRangeOfOthers(prefix netip.Prefix) bool {
	for _, e := range r.nodes {
		if !annotations.IsSimulated(e.node) && slices.Contains(e.node.Spec.PodCIDRs, prefix.String()) {
			return true
		}
	}
	return false
}

// isPodAddress reports whether an address is that of a Pod on a simulated node.
func (r *podRegistry) isPodAddress(addr netip.Addr) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nodeIPPool.used[addr] { // of Pods on the host network
		return true
	}
	for _, pool := range r.podIPPools {
		if pool.used[addr] {
			return true
		}
	}
	return false
}
