package nodes

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	v1helper "k8s.io/kubernetes/pkg/apis/core/v1/helper"
)

// setResources fills in the capacity and the allocatable resources of a node. As with a kubelet, what a
// client adds to the capacity is allocatable, and an extended resource that has left it is not.
func (s nodeShape) setResources(st *corev1.NodeStatus) {
	if len(st.Capacity) == 0 {
		st.Capacity = maps.Clone(s.capacity)
		for name, n := range st.Allocatable {
			if v1helper.IsExtendedResourceName(name) {
				st.Capacity[name] = n // the creator of the node has left it out
			}
		}
	}
	allocatable := maps.Clone(st.Capacity)
	for name, n := range st.Allocatable {
		if _, ok := st.Capacity[name]; ok || !v1helper.IsExtendedResourceName(name) {
			allocatable[name] = n
		}
	}
	st.Allocatable = allocatable
}

// followCapacity returns a node, or a copy of it without the allocatable amounts of the extended resources
// whose capacity alone has changed: the kubelet sets these again. A kubelet does so all the time, which
// would undo what a client changes to simulate a device that fails.
func followCapacity(before, node *corev1.Node) *corev1.Node {
	var stale []corev1.ResourceName
	for name := range node.Status.Capacity {
		if v1helper.IsExtendedResourceName(name) && isStale(&before.Status, &node.Status, name) {
			stale = append(stale, name)
		}
	}
	if len(stale) == 0 {
		return node
	}
	copied := *node
	copied.Status.Allocatable = maps.Clone(node.Status.Allocatable)
	for _, name := range stale {
		delete(copied.Status.Allocatable, name)
	}
	return &copied
}

// isStale reports whether the allocatable amount of a resource is that of an earlier capacity: the capacity
// alone has changed, or did so before and the kubelet has not set the amount since.
func isStale(before, now *corev1.NodeStatus, name corev1.ResourceName) bool {
	was, had := before.Capacity[name]
	wasAllocatable, isSet := before.Allocatable[name]
	capacity, allocatable := now.Capacity[name], now.Allocatable[name]
	return !capacity.Equal(was) && allocatable.Equal(wasAllocatable) || had && !isSet && !capacity.Equal(allocatable)
}

// withAllocatable returns node, or a copy of it with the resources that its kubelet
// will report if it has not reported any.
func (s nodeShape) withAllocatable(node *corev1.Node) *corev1.Node {
	if len(node.Status.Allocatable) > 0 {
		return node
	}
	copied := *node
	s.setResources(&copied.Status)
	return &copied
}
