package controllers

import (
	"context"
	"sync"

	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// handlerBarrier blocks a controller's event handlers while it is being built.
// Upstream starts the informers after all constructors have returned, so no handler
// runs during construction. Here the informers may already be running.
type handlerBarrier struct {
	mu        sync.RWMutex // held while the controller is being built
	released  sync.Once
	discarded bool // the controller was not built: its events are discarded
}

// hold blocks the handlers until release.
func (b *handlerBarrier) hold() { b.mu.Lock() }

// release lets the handlers run, or discards their events. Only the first call has an effect.
func (b *handlerBarrier) release(discard bool) {
	b.released.Do(func() {
		b.discarded = discard
		b.mu.Unlock()
	})
}

func (b *handlerBarrier) runHandler(f func()) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.discarded {
		f()
	}
}

// deferredHandler is an event handler that waits for the barrier.
type deferredHandler struct {
	next    cache.ResourceEventHandler
	barrier *handlerBarrier
}

func (h deferredHandler) OnAdd(obj any, isInInitialList bool) {
	h.barrier.runHandler(func() { h.next.OnAdd(obj, isInInitialList) })
}
func (h deferredHandler) OnUpdate(before, obj any) {
	h.barrier.runHandler(func() { h.next.OnUpdate(before, obj) })
}
func (h deferredHandler) OnDelete(obj any) { h.barrier.runHandler(func() { h.next.OnDelete(obj) }) }

// wrapConstructor blocks the handlers while the constructor runs. If it does not
// return a controller their events are discarded.
func (b *handlerBarrier) wrapConstructor(construct constructFunc) constructFunc {
	return func(ctx context.Context) (built app.Controller, err error) {
		b.hold()
		defer func() { b.release(built == nil) }()
		return construct(ctx)
	}
}
