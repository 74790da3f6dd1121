package nodes

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	schedutil "k8s.io/kubernetes/pkg/scheduler/util"
)

// nodeLoad is what the pods that a node has taken in take of it.
type nodeLoad struct {
	pods      int
	requested framework.Resource
	ports     fwk.HostPortInfo
}

// podLoad is a pod's part of it.
type podLoad struct {
	generation int64 // of the pod
	requested  *framework.Resource
	ports      []corev1.ContainerPort // of the node
}

func podLoadOf(pod *corev1.Pod) *podLoad {
	return &podLoad{pod.Generation, framework.NewResource(resource.PodRequests(pod, resource.PodResourcesOptions{})), schedutil.GetHostPorts(pod)}
}

// admitPod adds a pod to the load of its node, or says why the node rejects it. A
// pod that has started was taken in before.
func (l *podRegistry) admitPod(pod *corev1.Pod, e *podEntry, fresh *corev1.Node) *rejection {
	if e.load != nil || e.rejected != nil {
		return e.rejected
	}
	of := l.loadOf(e.node)
	if pod.Status.StartTime == nil && pod.DeletionTimestamp == nil {
		node := fresh
		if node == nil {
			node = l.nodes[e.node].node
		}
		if why := checkAdmission(pod, l.shape.withAllocatable(node), of); why != nil {
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

// releasePod takes back what a pod has of its node.
func (l *podRegistry) releasePod(e *podEntry) {
	for _, ip := range e.ips {
		ip.pool.release(ip.addr)
	}
	e.ips = nil
	if e.load == nil {
		return
	}
	of := l.loadOf(e.node)
	of.remove(e.load)
	e.load = nil
	if of.pods == 0 {
		delete(l.loads, e.node)
	}
}

// loadOf is that of a node; it is forgotten with its last pod.
func (l *podRegistry) loadOf(node string) *nodeLoad {
	if l.loads[node] == nil {
		l.loads[node] = &nodeLoad{ports: fwk.HostPortInfo{}}
	}
	return l.loads[node]
}

// sameRequests is whether both ask for the same.
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
