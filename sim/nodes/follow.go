package nodes

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/observe"
)

// feed receives all objects of a kind, and then each change.
type feed[T runtime.Object] interface {
	replace(list []T)
	// deliver is called with Added, Updated or Deleted. before is the version before an update, which is not a copy; otherwise nil.
	deliver(object T, change observe.Change, before any)
}

// follow passes the objects of an informer that meet a condition to a feed until ctx ends:
// first all that exist, as a list, then each change. The feed gets copies. What of the
// informer's events has been passed on is marked in progress, which may be nil.
func follow[T runtime.Object](ctx context.Context, informer cache.SharedIndexInformer, condition func(obj any) bool, to feed[T], progress *observe.Handler) error {
	f := &follower[T]{ctx: ctx, to: to, begun: make(chan struct{})}
	progress.SetInformer(observe.InformerState{Version: informer.LastSyncResourceVersion, Listed: f.hasBegun})
	handler := markingHandler{cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool { return condition(lastState(obj)) },
		Handler:    f,
	}, progress}
	registered, err := informer.AddEventHandlerWithResyncPeriod(handler, 0)
	if err != nil {
		return err
	}
	select {
	case <-registered.HasSyncedChecker().Done():
		to.replace(f.listed)
		f.listed = nil
		close(f.begun)
		<-ctx.Done()
	case <-ctx.Done():
	}
	return cache.ShutDownEventHandler(informer, registered)
}

// follower is the event handler of follow.
type follower[T runtime.Object] struct {
	ctx    context.Context
	to     feed[T]
	listed []T           // what exists at first, until begun is closed
	begun  chan struct{} // closed when the feed has the list
}

func (f *follower[T]) OnAdd(obj any, isInInitialList bool) {
	if isInInitialList {
		f.listed = append(f.listed, copyObject[T](obj))
		return
	}
	f.pass(obj, observe.Added, nil)
}

func (f *follower[T]) hasBegun() bool {
	select {
	case <-f.begun:
		return true
	default:
		return false
	}
}

// markingHandler marks the events that a handler has received, except for the list, which is
// received as a whole.
type markingHandler struct {
	cache.ResourceEventHandler
	progress *observe.Handler
}

func (h markingHandler) OnAdd(obj any, isInInitialList bool) {
	h.ResourceEventHandler.OnAdd(obj, isInInitialList)
	if !isInInitialList {
		h.mark(obj)
	}
}

func (h markingHandler) OnUpdate(before, obj any) {
	h.ResourceEventHandler.OnUpdate(before, obj)
	h.mark(obj)
}

func (h markingHandler) OnDelete(obj any) {
	h.ResourceEventHandler.OnDelete(obj)
	h.mark(lastState(obj))
}

func (h markingHandler) mark(obj any) {
	if o, ok := obj.(metav1.Object); ok {
		h.progress.MarkDelivered(o.GetResourceVersion(), time.Now())
	}
}

// OnUpdate gets another object of the same name, too, if the deletion of the first was missed.
func (f *follower[T]) OnUpdate(before, obj any) {
	if !isSameObject(before, obj) {
		f.pass(before, observe.Deleted, nil)
		f.pass(obj, observe.Added, nil)
		return
	}
	f.pass(obj, observe.Updated, before)
}

func (f *follower[T]) OnDelete(obj any) { f.pass(lastState(obj), observe.Deleted, nil) }

// lastState returns the last known state of an object whose deletion was missed, and any
// other object as it is.
func lastState(obj any) any {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return gone.Obj
	}
	return obj
}

// pass waits until the feed has the list.
func (f *follower[T]) pass(obj any, change observe.Change, before any) {
	if f.ctx.Err() != nil {
		return
	}
	select {
	case <-f.begun:
		f.to.deliver(copyObject[T](obj), change, before)
	case <-f.ctx.Done():
	}
}

func isSameObject(a, b any) bool {
	first, ok := a.(metav1.Object)
	second, also := b.(metav1.Object)
	return ok && also && first.GetUID() == second.GetUID()
}

// copyObject returns a copy that a feed may change.
func copyObject[T runtime.Object](obj any) T { return obj.(T).DeepCopyObject().(T) }
