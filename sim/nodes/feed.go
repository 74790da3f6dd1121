package nodes

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/kwok/pkg/utils/informer"

	"github.com/ctrlplane/ctrlplane/observe"
)

// nodeFeed keeps no Nodes but passes them to kwok, with what is due for them. A failed
// node is a deleted one to kwok.
type nodeFeed struct {
	ctx      context.Context
	registry *podRegistry
	stages   *stageSet
	events   chan informer.Event[*corev1.Node]
	onLive   func(*corev1.Node) // called when a node becomes live
	onDead   func(name string)
	schedule func(name string, at time.Time) // has what is due done
	synced   chan struct{}                   // closed after the first list
	isSynced bool

	mu sync.Mutex // keeps what is sent to kwok in the order of the updates
}

func (f *nodeFeed) deliver(node *corev1.Node, change observe.Change) {
	f.registry.played.deliver(change, "Node", node, func() {
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
		f.stopNode(node)
		return
	}
	if users, ok := f.stages.match(f.ctx, nodeRef, &node.ObjectMeta, node, f.registry.now(), f.registry.currentNodeStage(node)); ok {
		what = users
	}
	play, cancel := f.registry.assignNode(node, what, f.stages.has)
	if cancel {
		f.cancel(node.Name)
	}
	if play.name != "" {
		f.schedule(node.Name, play.at)
	}
	if !was {
		f.onLive(node)
	}
}

// stopNode does what is to be done when a live node has failed or was deleted.
func (f *nodeFeed) stopNode(node *corev1.Node) {
	f.onDead(node.Name)
	f.cancel(node.Name)
}

// cancel has kwok forget the stage that it tries again for a Node. kwok handles Deleted only for a Node that it knows,
// and may have handled one while it played the stage.
func (f *nodeFeed) cancel(name string) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	sendEvent(f.ctx, f.events, informer.Modified, node)
	sendEvent(f.ctx, f.events, informer.Deleted, node)
}

// endRetry has kwok forget a stage that it has queued to be tried again if that is stale.
func (f *nodeFeed) endRetry(name string, retry kwokRetry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cancel, again := f.registry.endNodeRetry(name, retry)
	if cancel {
		f.cancel(name)
	}
	if node, _, err := f.registry.liveNode(name); again && err == nil {
		f.processNode(node)
	}
}

// giveToKwok gives kwok the stage of a user that is due for a Node.
func (f *nodeFeed) giveToKwok(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if node, what := f.registry.takeNodeStage(name); node != nil {
		copied := *node
		setDueStage(&copied.ObjectMeta, what)
		sendEvent(f.ctx, f.events, informer.Modified, &copied)
	}
}

func (f *nodeFeed) removeNode(node *corev1.Node) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.registry.deleteNode(node.Name) {
		f.stopNode(node)
	}
}

func (f *nodeFeed) replace(list []*corev1.Node) {
	left := map[string]bool{}
	for _, name := range f.registry.nodeNames() {
		left[name] = true
	}
	for _, node := range list {
		f.deliver(node, observe.Listed)
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
	events   chan informer.Event[*corev1.Pod]
	getNode  func(ctx context.Context, name string) (*corev1.Node, error) // from the server
	record   func(pod *corev1.Pod, event podEvent)
	schedule func(uid string, at time.Time) // has what is due done

	mu sync.Mutex // keeps what is sent to kwok in the order of the updates
}

func (f *podFeed) deliver(pod *corev1.Pod, change observe.Change) {
	f.registry.played.deliver(change, "Pod", pod, func() {
		if change == observe.Deleted {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.registry.deletePod(pod.UID)
			sendEvent(f.ctx, f.events, informer.Deleted, pod)
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
	f.processPodLocked(pod, listed)
}

func (f *podFeed) processPodLocked(pod *corev1.Pod, listed bool) {
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
	play, cancel := f.registry.assignPod(pod, what, f.stages.has)
	if cancel {
		f.cancel(podKey(pod))
	}
	if play.name != "" {
		f.schedule(string(pod.UID), play.at)
	}
}

// giveToKwok gives kwok the stage of a user that is due for a Pod.
func (f *podFeed) giveToKwok(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if pod, what := f.registry.takePodStage(uid); pod != nil {
		copied := *pod
		setDueStage(&copied.ObjectMeta, what)
		sendEvent(f.ctx, f.events, informer.Modified, &copied)
	}
}

// cancelStages cancels what kwok tries again for the Pods of a node that has failed.
func (f *podFeed) cancelStages(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range f.registry.forgetStages(node) {
		f.cancel(key)
	}
}

// cancel has kwok forget the stage that it tries again for a Pod.
func (f *podFeed) cancel(key string) {
	namespace, name, _ := strings.Cut(key, "/")
	sendEvent(f.ctx, f.events, informer.Deleted, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
}

// endRetry has kwok forget a stage that it has queued to be tried again if that is stale. The Pod is nil if it was
// deleted.
func (f *podFeed) endRetry(key string, pod *corev1.Pod, retry kwokRetry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cancel, again := true, false
	if pod != nil {
		cancel, again = f.registry.endPodRetry(pod.UID, retry)
	}
	if cancel {
		f.cancel(key)
	}
	if again {
		f.processPodLocked(pod, true)
	}
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
		f.deliver(pod, observe.Listed)
		present[pod.UID] = true
	}
	f.registry.retainPods(present)
}

// sendEvent passes an event to kwok, unless the context ends.
func sendEvent[T runtime.Object](ctx context.Context, to chan informer.Event[T], kind informer.EventType, object T) {
	select {
	case to <- informer.Event[T]{Type: kind, Object: object}:
	case <-ctx.Done():
	}
}
