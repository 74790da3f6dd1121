package nodes

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// nodeLoad is what the admitted Pods of a node request.
type nodeLoad struct {
	pods      int
	requested framework.Resource
	ports     fwk.HostPortInfo
}

// podLoad is what one Pod requests.
type podLoad struct {
	generation int64  // of the Pod
	resources  uint64 // a hash of those that its spec asks for
	requested  *framework.Resource
	ports      []corev1.ContainerPort // host ports
}

func podLoadOf(pod *corev1.Pod) *podLoad {
	return &podLoad{pod.Generation, resourcesHash(pod), framework.NewResource(resource.PodRequests(pod, resource.PodResourcesOptions{})), schedutil.GetHostPorts(pod)}
}

// admitPod adds a Pod to the load of its node, or returns why the node rejects it. A
// Pod that has started was admitted earlier.
func (r *podRegistry) admitPod(pod *corev1.Pod, e *podEntry, fresh *corev1.Node) *rejection {
	if e.load != nil || e.rejected != nil {
		return e.rejected
	}
	of := r.loadOf(e.node)
	if pod.Status.StartTime == nil && pod.DeletionTimestamp == nil {
		node := fresh
		if node == nil {
			node = r.nodes[e.node].node
		}
		if why := checkAdmission(pod, r.shape.withAllocatable(node), of); why != nil {
			if fresh != nil {
				e.rejected = why
			}
			return why
		}
	}
	e.load = podLoadOf(pod)
	of.add(e.load)
	return nil
}

// releasePod removes a Pod from the load of its node and releases its addresses.
func (r *podRegistry) releasePod(e *podEntry) {
	for _, ip := range e.ips {
		ip.pool.release(ip.addr)
	}
	e.ips = nil
	if e.load == nil {
		return
	}
	of := r.loadOf(e.node)
	of.remove(e.load)
	e.load = nil
	if of.pods == 0 {
		delete(r.loads, e.node)
	}
}

// loadOf returns the load of a node. releasePod deletes it with the last Pod.
func (r *podRegistry) loadOf(node string) *nodeLoad {
	if r.loads[node] == nil {
		r.loads[node] = &nodeLoad{ports: fwk.HostPortInfo{}}
	}
	return r.loads[node]
}

// sameRequests reports whether both request the same resources.
func (s *podLoad) sameRequests(o *podLoad) bool {
	a, b := s.requested, o.requested
	return a.MilliCPU == b.MilliCPU && a.Memory == b.Memory && a.EphemeralStorage == b.EphemeralStorage &&
		maps.Equal(a.ScalarResources, b.ScalarResources)
}

func (l *nodeLoad) add(s *podLoad) {
	l.pods++
	l.addRequests(s.requested, 1)
	for _, p := range s.ports {
		l.ports.Add(p.HostIP, string(p.Protocol), p.HostPort)
	}
}

func (l *nodeLoad) remove(s *podLoad) {
	l.pods--
	l.addRequests(s.requested, -1)
	for _, p := range s.ports {
		l.ports.Remove(p.HostIP, string(p.Protocol), p.HostPort)
	}
}

func (l *nodeLoad) addRequests(r *framework.Resource, sign int64) {
	l.requested.MilliCPU += sign * r.MilliCPU
	l.requested.Memory += sign * r.Memory
	l.requested.EphemeralStorage += sign * r.EphemeralStorage
	for name, n := range r.ScalarResources {
		l.requested.SetScalar(name, l.requested.ScalarResources[name]+sign*n)
	}
}
