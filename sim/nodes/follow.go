package nodes

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache"
)

// feed receives all objects of a kind, and then each change.
type feed interface {
	Replace(list []any) error
	Add(obj any) error
	Update(obj any) error
	Delete(obj any) error
}

// follow passes the objects of an informer that meet a condition to a feed until ctx ends:
// first all that exist, as a list, then each change. The feed gets copies.
func follow(ctx context.Context, informer cache.SharedIndexInformer, condition func(obj any) bool, to feed) error {
	f := &follower{ctx: ctx, to: to, begun: make(chan struct{})}
	handler := cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool { return condition(lastState(obj)) },
		Handler:    f,
	}
	registered, err := informer.AddEventHandlerWithResyncPeriod(handler, 0)
	if err != nil {
		return err
	}
	select {
	case <-registered.HasSyncedChecker().Done():
		f.check(to.Replace(f.listed))
		f.listed = nil
		close(f.begun)
		<-ctx.Done()
	case <-ctx.Done():
	}
	return cache.ShutDownEventHandler(informer, registered)
}

// follower is the event handler of follow.
type follower struct {
	ctx    context.Context
	to     feed
	listed []any         // what exists at first, until begun is closed
	begun  chan struct{} // closed when the feed has the list
}

func (f *follower) OnAdd(obj any, isInInitialList bool) {
	if isInInitialList {
		f.listed = append(f.listed, copyObject(obj))
		return
	}
	f.pass(f.to.Add, obj)
}

// OnUpdate gets another object of the same name, too, if the deletion of the first was missed.
func (f *follower) OnUpdate(before, obj any) {
	if !isSameObject(before, obj) {
		f.pass(f.to.Delete, before)
		f.pass(f.to.Add, obj)
		return
	}
	f.pass(f.to.Update, obj)
}

func (f *follower) OnDelete(obj any) { f.pass(f.to.Delete, lastState(obj)) }

// lastState returns the last known state of an object whose deletion was missed, and any
// other object as it is.
func lastState(obj any) any {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		return gone.Obj
	}
	return obj
}

// pass waits until the feed has the list.
func (f *follower) pass(deliver func(obj any) error, obj any) {
	if f.ctx.Err() != nil {
		return
	}
	select {
	case <-f.begun:
		f.check(deliver(copyObject(obj)))
	case <-f.ctx.Done():
	}
}

func (f *follower) check(err error) {
	if err != nil {
		utilruntime.HandleErrorWithContext(f.ctx, err, "Simulated nodes cannot follow an object")
	}
}

func isSameObject(a, b any) bool {
	first, ok := a.(metav1.Object)
	second, also := b.(metav1.Object)
	return ok && also && first.GetUID() == second.GetUID()
}

// copyObject returns a copy that a feed may change.
func copyObject(obj any) any {
	if object, ok := obj.(runtime.Object); ok {
		return object.DeepCopyObject()
	}
	return obj
}
