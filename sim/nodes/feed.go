package nodes

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/kwok/pkg/utils/informer"
)

// nodeFeed is the store of a reflector that keeps no nodes but hands them on to
// kwok, with what is due of them. To kwok a node that has failed is deleted.
type nodeFeed struct {
	ctx      context.Context
	registry *podRegistry
	stages   *stageSet
	warnings *deprecationLog
	events   chan informer.Event[*corev1.Node]
	onLive   func(*corev1.Node) // a node has come to life
	onDead   func(name string)
	synced   chan struct{} // closed when all nodes have been seen
	isSynced bool
}

var _ cache.ReflectorStore = (*nodeFeed)(nil)

func (f *nodeFeed) Add(obj any) error {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return fmt.Errorf("the watch of nodes brought a %T", obj)
	}
	was, is, what := f.registry.updateNode(node)
	kind := informer.Modified
	switch {
	case !was && !is:
		return nil
	case was && !is:
		f.onDead(node.Name)
		kind = informer.Deleted
	case !was:
		kind = informer.Added
	}
	if is {
		f.warnings.check("Node", &node.ObjectMeta)
		if users, ok := f.stages.match(f.ctx, nodeRef, &node.ObjectMeta, node, f.registry.now()); ok {
			what = users
		}
	}
	copied := *node
	setDueStage(&copied.ObjectMeta, what)
	sendEvent(f.ctx, f.events, kind, &copied)
	if is && !was {
		f.onLive(node)
	}
	return nil
}

func (f *nodeFeed) Update(obj any) error { return f.Add(obj) }

func (f *nodeFeed) Delete(obj any) error {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return fmt.Errorf("the watch of nodes brought a %T", obj)
	}
	f.removeNode(node)
	return nil
}

func (f *nodeFeed) removeNode(node *corev1.Node) {
	if f.registry.deleteNode(node.Name) {
		f.onDead(node.Name)
		sendEvent(f.ctx, f.events, informer.Deleted, node)
	}
}

func (f *nodeFeed) Replace(list []any, _ string) error {
	left := map[string]bool{}
	for _, name := range f.registry.nodeNames() {
		left[name] = true
	}
	for _, obj := range list {
		if err := f.Add(obj); err != nil {
			return err
		}
		delete(left, obj.(*corev1.Node).Name)
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
	return nil
}

func (f *nodeFeed) Resync() error { return nil }

// podFeed does for bound pods what nodeFeed does for nodes.
type podFeed struct {
	ctx           context.Context
	registry      *podRegistry
	stages        *stageSet
	warnings      *deprecationLog
	events        chan informer.Event[*corev1.Pod]
	getNode       func(ctx context.Context, name string) (*corev1.Node, error) // as the server has it
	recordWarning func(pod *corev1.Pod, reason, message string)                // makes a warning of it
}

var _ cache.ReflectorStore = (*podFeed)(nil)

func (f *podFeed) Add(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("the watch of pods brought a %T", obj)
	}
	f.processPod(pod, false)
	return nil
}

// processPod takes in a pod; again says that it was listed for a node that has come to
// life after its pods had been seen.
func (f *podFeed) processPod(pod *corev1.Pod, again bool) {
	seen := f.registry.updatePod(pod, again, nil)
	if !seen.accepted {
		return
	}
	f.warnings.check("Pod", &pod.ObjectMeta)
	if seen.annotationError != nil {
		f.recordWarning(pod, "InvalidAnnotation", seen.annotationError.Error())
	}
	if seen.rejected != nil {
		if seen = f.registry.updatePod(pod, true, f.freshNode(pod)); !seen.accepted {
			return
		}
		if why := f.registry.podRejection(pod.UID); why != nil {
			f.recordWarning(pod, why.reason, why.message)
		}
	}
	what := seen.next
	if users, ok := f.stages.match(f.ctx, podRef, &pod.ObjectMeta, pod, f.registry.now()); ok {
		what = users
	}
	copied := *pod
	setDueStage(&copied.ObjectMeta, what)
	sendEvent(f.ctx, f.events, informer.Modified, &copied)
}

// freshNode is a pod's node as it is now: what the watch of nodes has told of it may
// be older than what the pod was bound for. If the server does not answer, that
// has to do.
func (f *podFeed) freshNode(pod *corev1.Pod) *corev1.Node {
	if node, err := f.getNode(f.ctx, pod.Spec.NodeName); err == nil {
		return node
	}
	return f.registry.lastSeenNode(pod.Spec.NodeName)
}

func (f *podFeed) Update(obj any) error { return f.Add(obj) }

func (f *podFeed) Delete(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("the watch of pods brought a %T", obj)
	}
	f.registry.deletePod(pod.UID)
	sendEvent(f.ctx, f.events, informer.Deleted, pod)
	return nil
}

// Replace takes in the pods that have started first: they hold their ports.
func (f *podFeed) Replace(list []any, _ string) error {
	started := func(obj any) int {
		if pod, ok := obj.(*corev1.Pod); ok && pod.Status.StartTime == nil {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b any) int { return started(a) - started(b) })
	present := make(map[types.UID]bool, len(list))
	for _, obj := range list {
		if err := f.Add(obj); err != nil {
			return err
		}
		present[obj.(*corev1.Pod).UID] = true
	}
	f.registry.retainPods(present)
	return nil
}

func (f *podFeed) Resync() error { return nil }

// sendEvent hands an event to kwok, unless all ends.
func sendEvent[T runtime.Object](ctx context.Context, to chan informer.Event[T], kind informer.EventType, object T) {
	select {
	case to <- informer.Event[T]{Type: kind, Object: object}:
	case <-ctx.Done():
	}
}
