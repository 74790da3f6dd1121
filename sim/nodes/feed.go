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
	ledger   *ledger
	stages   *stageSet
	to       chan informer.Event[*corev1.Node]
	alive    func(*corev1.Node) // a node has come to life
	dead     func(name string)
	synced   chan struct{} // closed when all nodes have been seen
	isSynced bool
}

var _ cache.ReflectorStore = (*nodeFeed)(nil)

func (f *nodeFeed) Add(obj any) error {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return fmt.Errorf("the watch of nodes brought a %T", obj)
	}
	was, is, what := f.ledger.seeNode(node)
	kind := informer.Modified
	switch {
	case !was && !is:
		return nil
	case was && !is:
		f.dead(node.Name)
		kind = informer.Deleted
	case !was:
		kind = informer.Added
	}
	if is {
		if users, ok := f.stages.match(f.ctx, nodeRef, &node.ObjectMeta, node, f.ledger.now()); ok {
			what = users
		}
	}
	copied := *node
	annotate(&copied.ObjectMeta, what)
	send(f.ctx, f.to, kind, &copied)
	if is && !was {
		f.alive(node)
	}
	return nil
}

func (f *nodeFeed) Update(obj any) error { return f.Add(obj) }

func (f *nodeFeed) Delete(obj any) error {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return fmt.Errorf("the watch of nodes brought a %T", obj)
	}
	f.gone(node)
	return nil
}

func (f *nodeFeed) gone(node *corev1.Node) {
	if f.ledger.forgetNode(node.Name) {
		f.dead(node.Name)
		send(f.ctx, f.to, informer.Deleted, node)
	}
}

func (f *nodeFeed) Replace(list []any, _ string) error {
	left := map[string]bool{}
	for _, name := range f.ledger.nodeNames() {
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
		f.gone(node)
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
	ctx    context.Context
	ledger *ledger
	stages *stageSet
	to     chan informer.Event[*corev1.Pod]
	node   func(ctx context.Context, name string) (*corev1.Node, error) // as the server has it
	tell   func(pod *corev1.Pod, reason, message string)                // makes a warning of it
}

var _ cache.ReflectorStore = (*podFeed)(nil)

func (f *podFeed) Add(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("the watch of pods brought a %T", obj)
	}
	f.see(pod, false)
	return nil
}

// see takes in a pod; again says that it was listed for a node that has come to
// life after its pods had been seen.
func (f *podFeed) see(pod *corev1.Pod, again bool) {
	seen := f.ledger.seePod(pod, again, nil)
	if !seen.heeded {
		return
	}
	if seen.wrong != nil {
		f.tell(pod, "InvalidAnnotation", seen.wrong.Error())
	}
	if seen.rejected != nil {
		if seen = f.ledger.seePod(pod, true, f.fresh(pod)); !seen.heeded {
			return
		}
		if why := f.ledger.rejection(pod.UID); why != nil {
			f.tell(pod, why.reason, why.message)
		}
	}
	what := seen.due
	if users, ok := f.stages.match(f.ctx, podRef, &pod.ObjectMeta, pod, f.ledger.now()); ok {
		what = users
	}
	copied := *pod
	annotate(&copied.ObjectMeta, what)
	send(f.ctx, f.to, informer.Modified, &copied)
}

// fresh is a pod's node as it is now: what the watch of nodes has told of it may
// be older than what the pod was bound for. If the server does not answer, that
// has to do.
func (f *podFeed) fresh(pod *corev1.Pod) *corev1.Node {
	if node, err := f.node(f.ctx, pod.Spec.NodeName); err == nil {
		return node
	}
	return f.ledger.lastNode(pod.Spec.NodeName)
}

func (f *podFeed) Update(obj any) error { return f.Add(obj) }

func (f *podFeed) Delete(obj any) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("the watch of pods brought a %T", obj)
	}
	f.ledger.forgetPod(pod.UID)
	send(f.ctx, f.to, informer.Deleted, pod)
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
	f.ledger.forgetPodsBut(present)
	return nil
}

func (f *podFeed) Resync() error { return nil }

// send hands an event to kwok, unless all ends.
func send[T runtime.Object](ctx context.Context, to chan informer.Event[T], kind informer.EventType, object T) {
	select {
	case to <- informer.Event[T]{Type: kind, Object: object}:
	case <-ctx.Done():
	}
}
