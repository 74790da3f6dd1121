package nodes

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// load is what the pods that a node has taken in take of it.
type load struct {
	pods      int
	requested framework.Resource
	ports     fwk.HostPortInfo
}

// share is a pod's part of it.
type share struct {
	generation int64 // of the pod
	requested  *framework.Resource
	ports      []corev1.ContainerPort // of the node
}

func shareOf(pod *corev1.Pod) *share {
	return &share{pod.Generation, framework.NewResource(resource.PodRequests(pod, resource.PodResourcesOptions{})), schedutil.GetHostPorts(pod)}
}

// takeIn adds a pod to the load of its node, or says why the node rejects it. A
// pod that has started was taken in before.
func (l *ledger) takeIn(pod *corev1.Pod, e *podEntry, fresh *corev1.Node) *rejection {
	if e.share != nil || e.rejected != nil {
		return e.rejected
	}
	of := l.load(e.node)
	if pod.Status.StartTime == nil && pod.DeletionTimestamp == nil {
		node := fresh
		if node == nil {
			node = l.nodes[e.node].node
		}
		if why := admit(pod, l.shape.measured(node), of); why != nil {
			if fresh != nil {
				e.rejected = why
			}
			return why
		}
	}
	e.share = shareOf(pod)
	of.add(e.share)
	return nil
}

// giveBack takes back what a pod has of its node.
func (l *ledger) giveBack(e *podEntry) {
	for _, ip := range e.ips {
		ip.from.free(ip.addr)
	}
	e.ips = nil
	if e.share == nil {
		return
	}
	of := l.load(e.node)
	of.remove(e.share)
	e.share = nil
	if of.pods == 0 {
		delete(l.loads, e.node)
	}
}

// load is that of a node; it is forgotten with its last pod.
func (l *ledger) load(node string) *load {
	if l.loads[node] == nil {
		l.loads[node] = &load{ports: fwk.HostPortInfo{}}
	}
	return l.loads[node]
}

// asLargeAs is whether both ask for the same.
func (s *share) asLargeAs(o *share) bool {
	a, b := s.requested, o.requested
	return a.MilliCPU == b.MilliCPU && a.Memory == b.Memory && a.EphemeralStorage == b.EphemeralStorage &&
		maps.Equal(a.ScalarResources, b.ScalarResources)
}

func (l *load) add(s *share) {
	l.pods++
	l.count(s.requested, 1)
	for _, p := range s.ports {
		l.ports.Add(p.HostIP, string(p.Protocol), p.HostPort)
	}
}

func (l *load) remove(s *share) {
	l.pods--
	l.count(s.requested, -1)
	for _, p := range s.ports {
		l.ports.Remove(p.HostIP, string(p.Protocol), p.HostPort)
	}
}

func (l *load) count(r *framework.Resource, sign int64) {
	l.requested.MilliCPU += sign * r.MilliCPU
	l.requested.Memory += sign * r.Memory
	l.requested.EphemeralStorage += sign * r.EphemeralStorage
	for name, n := range r.ScalarResources {
		l.requested.SetScalar(name, l.requested.ScalarResources[name]+sign*n)
	}
}
