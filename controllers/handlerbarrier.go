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

// handlerBarrier makes the events for a controller's handlers wait while it is
// being built: constructors add handlers before they are through, as upstream's
// informers start later. Here they may run already.
type handlerBarrier struct {
	mu        sync.RWMutex // held while the controller is being built
	discarded bool         // it could not be built
}

// wrapInformers makes f's handlers wait until they are let go.
func (c *handlerBarrier) wrapInformers(f *facade) { f.typed = deferredFactory{f.typed, c} }

func (c *handlerBarrier) runHandler(f func()) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.discarded {
		f()
	}
}

// deferredFactory has informers whose events may wait.
type deferredFactory struct {
	informers.SharedInformerFactory
	barrier *handlerBarrier
}

func (l deferredFactory) InformerFor(obj runtime.Object, build internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return deferredInformer{l.SharedInformerFactory.InformerFor(obj, build), l.barrier}
}

func (l deferredFactory) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := l.SharedInformerFactory.ForResource(gvr)
	if err != nil {
		return nil, err
	}
	return ownedGenericInformer{generic, deferredInformer{generic.Informer(), l.barrier}}, nil
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

// deferredHandler is a handler whose events may wait.
type deferredHandler struct {
	next    cache.ResourceEventHandler
	barrier *handlerBarrier
}

func (l deferredHandler) OnAdd(obj any, listed bool) {
	l.barrier.runHandler(func() { l.next.OnAdd(obj, listed) })
}
func (l deferredHandler) OnUpdate(before, obj any) {
	l.barrier.runHandler(func() { l.next.OnUpdate(before, obj) })
}
func (l deferredHandler) OnDelete(obj any) { l.barrier.runHandler(func() { l.next.OnDelete(obj) }) }

// wrapConstructor runs a constructor while the events wait. Those of a controller
// that there is not in the end are dropped.
func (c *handlerBarrier) wrapConstructor(construct constructFunc) constructFunc {
	return func(ctx context.Context) (made app.Controller, err error) {
		c.mu.Lock()
		defer func() {
			c.discarded = made == nil
			c.mu.Unlock()
		}()
		return construct(ctx)
	}
}

// GetIndexer returns a store to which a controller can add the indexers of its
// earlier lives again.
func (i deferredInformer) GetIndexer() cache.Indexer {
	return idempotentIndexer{i.SharedIndexInformer.GetIndexer()}
}

type idempotentIndexer struct{ cache.Indexer }

func (i idempotentIndexer) AddIndexers(indexers cache.Indexers) error {
	fresh := maps.Clone(indexers)
	for name := range i.GetIndexers() {
		delete(fresh, name)
	}
	if len(fresh) == 0 {
		return nil
	}
	return i.Indexer.AddIndexers(fresh)
}
