package nodes

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ctrlplane/ctrlplane/observe"
)

// nodeFeed passes Nodes to the registry, and has what is due for them done.
type nodeFeed struct {
	ctx      context.Context
	registry *podRegistry
	stages   *stageSet
	onLive   func(*corev1.Node) // called when a node becomes live
	onDead   func(name string)
	schedule func(name string, at time.Time) // has what is due done
	synced   chan struct{}                   // closed after the first list
	isSynced bool

	mu sync.Mutex // one update, or change of the stages, is processed at a time
}

func (f *nodeFeed) deliver(node *corev1.Node, change observe.Change, before any) {
	f.registry.played.deliver(change, "Node", before, node, func() {
		if change == observe.Deleted {
			f.removeNode(node)
			return
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.processNode(node)
	})
}

// reprocess looks again for what is due for the live nodes, because stages have changed.
func (f *nodeFeed) reprocess() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, node := range f.registry.liveNodes() {
		f.processNode(node)
	}
}

// processNode updates the registry and has what is due for the Node done. It needs the lock.
func (f *nodeFeed) processNode(node *corev1.Node) {
	was, is, what := f.registry.updateNode(node)
	switch {
	case !was && !is:
		return
	case !is:
		f.onDead(node.Name)
		return
	}
	if users, ok := f.stages.match(f.ctx, nodeRef, &node.ObjectMeta, node, f.registry.now(), f.registry.currentNodeStage(node)); ok {
		what = users
	}
	if play := f.registry.assignNode(node, what, f.stages.has); play.name != "" {
		f.schedule(node.Name, play.at)
	}
	if !was {
		f.onLive(node)
	}
}

// takeStage begins to play the stage of a user that is due for a Node; nil if none is.
func (f *nodeFeed) takeStage(name string) *stageRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.registry.takeNodeStage(name, f.stages.has)
}

func (f *nodeFeed) removeNode(node *corev1.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.registry.deleteNode(node.Name) {
		f.onDead(node.Name)
	}
}

func (f *nodeFeed) replace(list []*corev1.Node) {
	left := map[string]bool{}
	for _, name := range f.registry.nodeNames() {
		left[name] = true
	}
	for _, node := range list {
		f.deliver(node, observe.Listed, nil)
		delete(left, node.Name)
	}
	for name := range left {
		node := &corev1.Node{}
		node.Name = name
		f.removeNode(node)
	}
	if !f.isSynced {
		f.isSynced = true
		close(f.synced)
	}
}

// podEvent is an Event about a Pod, or about one of its containers.
type podEvent struct {
	warning                    bool
	simulator                  bool // it comes from what simulates the kubelet, not from that
	container, reason, message string
}

// podFeed is to bound Pods what nodeFeed is to Nodes.
type podFeed struct {
	ctx      context.Context
	registry *podRegistry
	stages   *stageSet
	getNode  func(ctx context.Context, name string) (*corev1.Node, error) // from the server
	record   func(pod *corev1.Pod, event podEvent)
	schedule func(uid string, at time.Time) // has what is due done

	mu sync.Mutex // one update, or change of the stages, is processed at a time
}

func (f *podFeed) deliver(pod *corev1.Pod, change observe.Change, before any) {
	f.registry.played.deliver(change, "Pod", before, pod, func() {
		if change == observe.Deleted {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.registry.deletePod(pod.UID)
		} else {
			f.processPod(pod, false)
		}
	})
}

// processPod updates the registry and has what is due for the Pod done. listed means that the
// Pod comes from a list, because its node became live after the watch delivered it.
func (f *podFeed) processPod(pod *corev1.Pod, listed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.registry.updatePod(pod, listed, nil)
	if !seen.accepted {
		return
	}
	if seen.annotationError != nil {
		f.record(pod, podEvent{warning: true, simulator: true, reason: "InvalidAnnotation", message: seen.annotationError.Error()})
	}
	if seen.rejected != nil {
		if seen = f.registry.updatePod(pod, true, f.freshNode(pod)); !seen.accepted {
			return
		}
		if why := f.registry.podRejection(pod.UID); why != nil {
			f.record(pod, podEvent{warning: true, reason: why.reason, message: why.message})
		}
	}
	if seen.simulated != "" {
		f.record(pod, podEvent{simulator: true, reason: "Simulated", message: seen.simulated})
	}
	for _, event := range seen.events {
		f.record(pod, event)
	}
	what := seen.next
	if users, ok := f.stages.match(f.ctx, podRef, &pod.ObjectMeta, pod, f.registry.now(), f.registry.currentPodStage(pod)); ok {
		what = users
	}
	f.playPod(pod, what)
}

// processListed does for all Pods of a list what processPod does for one.
func (f *podFeed) processListed(list []corev1.Pod) {
	pods := make([]*corev1.Pod, 0, len(list))
	for i := range list {
		pods = append(pods, &list[i])
	}
	f.registry.admitStarted(pods, true)
	for _, pod := range pods {
		f.processPod(pod, true)
	}
}

// playPod has what is due for a Pod done.
func (f *podFeed) playPod(pod *corev1.Pod, what dueStage) {
	if play := f.registry.assignPod(pod, what, f.stages.has); play.name != "" {
		f.schedule(string(pod.UID), play.at)
	}
}

// takeStage begins to play the stage of a user that is due for a Pod; nil if none is.
func (f *podFeed) takeStage(uid string) *stageRun {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.registry.takePodStage(types.UID(uid), f.stages.has)
}

// forgetStages says that nothing is played for the Pods of a node that has failed.
func (f *podFeed) forgetStages(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.registry.forgetStages(node)
}

// pendingVersion returns the version of a Pod that a write is about to replace.
func (f *podFeed) pendingVersion(uid types.UID) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.registry.pendingVersion(uid)
}

// freshNode returns the current Node of a Pod. The watch of nodes may lag behind the
// Node that the Pod was bound to; it has to do if the server does not answer.
func (f *podFeed) freshNode(pod *corev1.Pod) *corev1.Node {
	if node, err := f.getNode(f.ctx, pod.Spec.NodeName); err == nil {
		return node
	}
	return f.registry.lastSeenNode(pod.Spec.NodeName)
}

// replace delivers the Pods that exist. Pods that have started come first: they
// hold their host ports and addresses.
func (f *podFeed) replace(list []*corev1.Pod) {
	started := func(pod *corev1.Pod) int {
		if pod.Status.StartTime == nil {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b *corev1.Pod) int { return started(a) - started(b) })
	f.registry.admitStarted(list, false)
	present := make(map[types.UID]bool, len(list))
	for _, pod := range list {
		f.deliver(pod, observe.Listed, nil)
		present[pod.UID] = true
	}
	f.registry.retainPods(present)
}
