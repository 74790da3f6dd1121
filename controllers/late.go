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

// construction makes the events for a controller's handlers wait while it is
// being built: constructors add handlers before they are through, as upstream's
// informers start later. Here they may run already.
type construction struct {
	mu      sync.RWMutex // held while the controller is being built
	dropped bool         // it could not be built
}

// delay makes f's handlers wait until they are let go.
func (c *construction) delay(f *facade) { f.typed = lateFactory{f.typed, c} }

func (c *construction) handle(f func()) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if !c.dropped {
		f()
	}
}

// lateFactory has informers whose events may wait.
type lateFactory struct {
	informers.SharedInformerFactory
	under *construction
}

func (l lateFactory) InformerFor(obj runtime.Object, build internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return lateInformer{l.SharedInformerFactory.InformerFor(obj, build), l.under}
}

func (l lateFactory) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := l.SharedInformerFactory.ForResource(gvr)
	if err != nil {
		return nil, err
	}
	return ownedGeneric{generic, lateInformer{generic.Informer(), l.under}}, nil
}

type lateInformer struct {
	cache.SharedIndexInformer
	under *construction
}

func (i lateInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandler(late{h, i.under})
}

func (i lateInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(late{h, i.under}, period)
}

func (i lateInformer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.SharedIndexInformer.AddEventHandlerWithOptions(late{h, i.under}, o)
}

// late is a handler whose events may wait.
type late struct {
	next  cache.ResourceEventHandler
	under *construction
}

func (l late) OnAdd(obj any, listed bool) { l.under.handle(func() { l.next.OnAdd(obj, listed) }) }
func (l late) OnUpdate(before, obj any)   { l.under.handle(func() { l.next.OnUpdate(before, obj) }) }
func (l late) OnDelete(obj any)           { l.under.handle(func() { l.next.OnDelete(obj) }) }

// whileHeld runs a constructor while the events wait. Those of a controller
// that there is not in the end are dropped.
func (c *construction) whileHeld(construct builder) builder {
	return func(ctx context.Context) (made app.Controller, err error) {
		c.mu.Lock()
		defer func() {
			c.dropped = made == nil
			c.mu.Unlock()
		}()
		return construct(ctx)
	}
}

// GetIndexer returns a store to which a controller can add the indexers of its
// earlier lives again.
func (i lateInformer) GetIndexer() cache.Indexer {
	return lateIndexer{i.SharedIndexInformer.GetIndexer()}
}

type lateIndexer struct{ cache.Indexer }

func (i lateIndexer) AddIndexers(indexers cache.Indexers) error {
	fresh := maps.Clone(indexers)
	for name := range i.GetIndexers() {
		delete(fresh, name)
	}
	if len(fresh) == 0 {
		return nil
	}
	return i.Indexer.AddIndexers(fresh)
}
