package controllers

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
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

// wrapInformers makes the handlers that are added to a view wait for the barrier, and for no
// other.
func (b *handlerBarrier) wrapInformers(view *informerView) {
	if other, ok := view.typed.(deferredFactory); ok {
		view.typed = other.SharedInformerFactory
	}
	view.typed = deferredFactory{view.typed, b}
}

func (b *handlerBarrier) runHandler(f func()) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	if !b.discarded {
		f()
	}
}

// deferredFactory provides informers whose handlers wait for the barrier.
type deferredFactory struct {
	informers.SharedInformerFactory
	barrier *handlerBarrier
}

func (f deferredFactory) InformerFor(obj runtime.Object, build internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return deferredInformer{f.SharedInformerFactory.InformerFor(obj, build), f.barrier}
}

func (f deferredFactory) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := f.SharedInformerFactory.ForResource(gvr)
	if err != nil {
		return nil, err
	}
	return ownedGenericInformer{generic, deferredInformer{generic.Informer(), f.barrier}}, nil
}

type deferredInformer struct {
	cache.SharedIndexInformer
	barrier *handlerBarrier
}

func (i deferredInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(deferredHandler{h, i.barrier})
}

func (i deferredInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(deferredHandler{h, i.barrier}, period)
}

func (i deferredInformer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(deferredHandler{h, i.barrier}, o)
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

// GetIndexer returns a store that accepts the indexers that an earlier run of the
// controller has added.
func (i deferredInformer) GetIndexer() cache.Indexer {
	return idempotentIndexer{i.SharedIndexInformer.GetIndexer()}
}

type idempotentIndexer struct{ cache.Indexer }

func (i idempotentIndexer) AddIndexers(indexers cache.Indexers) error {
	return addMissingIndexers(i.Indexer, indexers, i.Indexer.AddIndexers)
}

// indexersMu makes the stores' indexers readable, which client-go returns without a lock.
var indexersMu sync.Mutex

// addMissingIndexers adds the indexers that a store does not have by add, which accepts
// each name once.
func addMissingIndexers(to cache.Indexer, indexers cache.Indexers, add func(cache.Indexers) error) error {
	indexersMu.Lock()
	defer indexersMu.Unlock()
	missing := maps.Clone(indexers)
	for name := range to.GetIndexers() {
		delete(missing, name)
	}
	if len(missing) == 0 {
		return nil
	}
	return add(missing)
}
