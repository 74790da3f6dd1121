package nodes

import (
	"cmp"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

type podEntry struct {
	node     string
	version  string // the resource version that was seen last
	ips      []lent
	share    *share      // of its node's load; nil = not taken in, or finished
	rejected *rejection  // by its node, for good; nil = not
	pod      *corev1.Pod // while something is due of it
	ending   bool        // its deletion is under way
	told     string      // what is wrong with its annotations
}

// sight is what comes of seeing a pod.
type sight struct {
	heeded   bool // false: it is not ours, or what was seen is out of date
	due      due
	wrong    error      // with its annotations, once
	rejected *rejection // by its node, as far as that is known; look at the node as it is now
}

// seePod takes in the state of a pod. A pod that is seen again may be out of
// date. fresh, unless it is nil, is the pod's node as it is now: what that
// rejects is rejected for good.
func (l *ledger) seePod(pod *corev1.Pod, again bool, fresh *corev1.Node) sight {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[pod.UID]
	if again && (e == nil || e.version != pod.ResourceVersion) {
		return sight{} // deleted or newer: the watch is ahead of the list
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
		return sight{}
	}
	s := sight{heeded: true, wrong: l.news(pod, e)}
	at := l.place(pod, e, fresh)
	if at.rejected != nil && e.rejected == nil {
		s.rejected = at.rejected
		return s
	}
	if e.ending {
		return s
	}
	if s.due = podDue(pod, at, l.now()); s.due.stage != "" {
		e.pod = pod
	}
	return s
}

// rejection is why its node has rejected a pod; nil if it has not.
func (l *ledger) rejection(uid types.UID) *rejection {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e := l.pods[uid]; e != nil {
		return e.rejected
	}
	return nil
}

// news is what is wrong with a pod's annotations, unless that has been told.
func (l *ledger) news(pod *corev1.Pod, e *podEntry) error {
	if len(pod.Annotations) == 0 {
		return nil
	}
	_, wrong := behaviourOf(pod)
	if l.check != nil {
		wrong = joinErrors(wrong, l.check(pod))
	}
	told := e.told
	if e.told = ""; wrong != nil {
		e.told = wrong.Error()
	}
	if e.told == told {
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

func (l *ledger) forgetPod(uid types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.pods[uid]
	if e == nil {
		return
	}
	l.giveBack(e)
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
	return e.pod, l.place(e.pod, e, nil), nil
}

// place gives a pod what it takes of its node, or takes it back when the pod has
// finished.
func (l *ledger) place(pod *corev1.Pod, e *podEntry, fresh *corev1.Node) place {
	node := l.nodes[e.node]
	at := place{hostIPs: node.hostIPs()}
	if finished(pod) {
		l.giveBack(e)
		return at
	}
	if at.rejected = l.takeIn(pod, e, fresh); at.rejected != nil {
		return at
	}
	at.resize = l.resize(pod, e)
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

// podCount is how many pods are bound to a node.
func (l *ledger) podCount(node string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.onNode[node])
}
