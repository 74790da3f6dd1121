package nodes

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

type podEntry struct {
	node            string
	resourceVersion string // the resource version that was seen last
	ips             []allocatedIP
	load            *podLoad    // of its node's load; nil = not taken in, or finished
	rejected        *rejection  // by its node, for good; nil = not
	duePod          *corev1.Pod // while something is due of it
	deleting        bool        // its deletion is under way
	reportedError   string      // what is wrong with its annotations
}

// podUpdate is what comes of seeing a pod.
type podUpdate struct {
	accepted        bool // false: it is not ours, or what was seen is out of date
	next            dueStage
	annotationError error      // with its annotations, once
	rejected        *rejection // by its node, as far as that is known; look at the node as it is now
}

// updatePod takes in the state of a pod. A pod that is seen again may be out of
// date. fresh, unless it is nil, is the pod's node as it is now: what that
// rejects is rejected for good.
func (l *podRegistry) updatePod(pod *corev1.Pod, again bool, fresh *corev1.Node) podUpdate {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[pod.UID]
	if again && (e == nil || e.resourceVersion != pod.ResourceVersion) {
		return podUpdate{} // deleted or newer: the watch is ahead of the list
	}
	if e == nil {
		e = &podEntry{node: pod.Spec.NodeName}
		l.pods[pod.UID] = e
		if l.podsByNode[e.node] == nil {
			l.podsByNode[e.node] = map[types.UID]*podEntry{}
		}
		l.podsByNode[e.node][pod.UID] = e
	}
	e.duePod, e.resourceVersion = nil, pod.ResourceVersion
	if node := l.nodes[e.node]; node == nil || !node.live {
		return podUpdate{}
	}
	s := podUpdate{accepted: true, annotationError: l.newAnnotationError(pod, e)}
	at := l.placePod(pod, e, fresh)
	if at.rejected != nil && e.rejected == nil {
		s.rejected = at.rejected
		return s
	}
	if e.deleting {
		return s
	}
	if s.next = nextPodStage(pod, at, l.now()); s.next.name != "" {
		e.duePod = pod
	}
	return s
}

// podRejection is why its node has rejected a pod; nil if it has not.
func (l *podRegistry) podRejection(uid types.UID) *rejection {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.pods[uid]; e != nil {
		return e.rejected
	}
	return nil
}

// newAnnotationError is what is wrong with a pod's annotations, unless that has been told.
func (l *podRegistry) newAnnotationError(pod *corev1.Pod, e *podEntry) error {
	if len(pod.Annotations) == 0 {
		return nil
	}
	_, wrong := podBehaviorOf(pod)
	if l.checkPod != nil {
		wrong = joinErrors(wrong, l.checkPod(pod))
	}
	told := e.reportedError
	if e.reportedError = ""; wrong != nil {
		e.reportedError = wrong.Error()
	}
	if e.reportedError == told {
		return nil
	}
	return wrong
}

// joinErrors is errors.Join on one line.
func joinErrors(a, b error) error {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return fmt.Errorf("%w; %w", a, b)
}

func (l *podRegistry) deletePod(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[uid]
	if e == nil {
		return
	}
	l.releasePod(e)
	delete(l.pods, uid)
	delete(l.podsByNode[e.node], uid)
	if len(l.podsByNode[e.node]) == 0 {
		delete(l.podsByNode, e.node)
	}
}

// retainPods forgets the pods that are not among those.
func (l *podRegistry) retainPods(present map[types.UID]bool) {
	l.mu.Lock()
	var left []types.UID
	for uid := range l.pods {
		if !present[uid] {
			left = append(left, uid)
		}
	}
	l.mu.Unlock()
	for _, uid := range left {
		l.deletePod(uid)
	}
}

// hasPods is whether pods of the node were seen.
func (l *podRegistry) hasPods(node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.podsByNode[node]) > 0
}

// duePod is a pod of which something is due, nil if nothing is any more.
func (l *podRegistry) duePod(uid types.UID) (*corev1.Pod, placement, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[uid]
	if e == nil || e.duePod == nil {
		return nil, placement{}, nil
	}
	if node := l.nodes[e.node]; node == nil || !node.live {
		return nil, placement{}, fmt.Errorf("node %s "+notLiveSuffix, e.node)
	}
	e.deleting = e.duePod.DeletionTimestamp != nil
	return e.duePod, l.placePod(e.duePod, e, nil), nil
}

// placePod gives a pod what it takes of its node, or takes it back when the pod has
// finished.
func (l *podRegistry) placePod(pod *corev1.Pod, e *podEntry, fresh *corev1.Node) placement {
	node := l.nodes[e.node]
	at := placement{hostIPs: node.nodeIPs()}
	if isFinished(pod) {
		l.releasePod(e)
		return at
	}
	if at.rejected = l.admitPod(pod, e, fresh); at.rejected != nil {
		return at
	}
	at.resizeRejected = l.resizePod(pod, e)
	if pod.Spec.HostNetwork {
		at.podIPs = at.hostIPs
		return at
	}
	if len(e.ips) == 0 {
		l.allocatePodIPs(pod, e, podRanges(node.node))
	}
	for _, ip := range e.ips {
		at.podIPs = append(at.podIPs, ip.addr)
	}
	return at
}

// podCount is how many pods are bound to a node.
func (l *podRegistry) podCount(node string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.podsByNode[node])
}
