package nodes

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
	podutil "k8s.io/kubernetes/pkg/api/v1/pod"
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

// startedLoadOf returns what a Pod requests that was admitted earlier. If its containers do not have the
// resources that its spec asks for, whether its node accepts that resize is still to be decided: the
// load is of no generation.
func startedLoadOf(pod *corev1.Pod) *podLoad {
	wants, allocated := podLoadOf(pod), withAllocatedResources(pod)
	has := &podLoad{resources: resourcesHash(allocated), requested: framework.NewResource(allocatedRequests(allocated)), ports: wants.ports}
	if has.sameRequests(wants) {
		return wants
	}
	return has
}

// allocatedRequests returns the requests of a Pod with the resources that its node has accepted.
func allocatedRequests(allocated *corev1.Pod) corev1.ResourceList {
	if allocated.Spec.Resources != nil && allocated.Status.AllocatedResources != nil {
		return allocated.Status.AllocatedResources
	}
	return resource.PodRequests(allocated, resource.PodResourcesOptions{})
}

// withAllocatedResources returns a copy of a Pod with the resources that its status says its node has accepted.
func withAllocatedResources(pod *corev1.Pod) *corev1.Pod {
	copied := *pod
	copied.Spec.InitContainers = withAllocated(pod.Spec.InitContainers, pod.Status.InitContainerStatuses)
	copied.Spec.Containers = withAllocated(pod.Spec.Containers, pod.Status.ContainerStatuses)
	if spec, has := pod.Spec.Resources, pod.Status.Resources; spec != nil && has != nil {
		copied.Spec.Resources = &corev1.ResourceRequirements{
			Requests: amountsOf(spec.Requests, pod.Status.AllocatedResources),
			Limits:   amountsOf(spec.Limits, has.Limits),
		}
	}
	return &copied
}

// amountsOf returns the resources of a list with the amounts of another one, which may have more.
func amountsOf(list, amounts corev1.ResourceList) corev1.ResourceList {
	got := corev1.ResourceList{}
	for name := range list {
		if n, ok := amounts[name]; ok {
			got[name] = n
		}
	}
	return got
}

// withAllocated returns containers with the resources of their statuses.
func withAllocated(list []corev1.Container, statuses []corev1.ContainerStatus) []corev1.Container {
	list = slices.Clone(list)
	for i := range list {
		if s := containerStatusOf(statuses, list[i].Name); s.Resources != nil { // it has run
			list[i].Resources.Requests, list[i].Resources.Limits = s.AllocatedResources, s.Resources.Limits
		}
	}
	return list
}

// admitStarted adds Pods that have started to the loads of their nodes and reserves their addresses, before
// anything is decided about one of them: whether a resize fits, and which address is free, depends on all
// others. listed means the same as for updatePod.
func (r *podRegistry) admitStarted(pods []*corev1.Pod, listed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pod := range pods {
		node := r.nodes[pod.Spec.NodeName]
		if pod.Status.StartTime == nil || podutil.IsPodTerminal(pod) || node == nil || !node.live {
			continue
		}
		if e := r.entryOf(pod, listed); e != nil {
			r.admitPod(pod, e, nil)
			r.keepPodIPs(pod, e, podRanges(node.node))
		}
	}
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
	if e.load = podLoadOf(pod); pod.Status.StartTime != nil {
		e.load = startedLoadOf(pod)
	}
	of.add(e.load)
	return nil
}

// releasePod removes a Pod from the load of its node and releases its addresses.
func (r *podRegistry) releasePod(e *podEntry) {
	r.releasePodIPs(e)
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
