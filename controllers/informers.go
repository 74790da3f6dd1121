package controllers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"

	"github.com/ctrlplane/ctrlplane/observe"
)

// facade is one controller's own view of the shared informers. It remembers the
// event handlers that the controller adds, so that they go when it stops, and
// it alone decides when informers start. Reads go to the shared stores.
type facade struct {
	typed          informers.SharedInformerFactory
	metadata       metadatainformer.SharedInformerFactory
	ctx            context.Context   // of the shared informers, not of the controller
	sharedRecorder *observe.Recorder // whose work the shared informers are; may be nil
	recorder       *observe.Recorder // of the events that the handlers are given; may be nil

	mu       sync.Mutex
	handlers []ownedHandler
}

type ownedHandler struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
	deliveries   *observe.Handler // nil if nobody looks
}

var (
	_ informers.SharedInformerFactory = (*facade)(nil)
	_ informerfactory.InformerFactory = objectOrMetadata{}
)

// Start starts the informers that nobody has started yet. It ignores the
// channel: some controllers pass their own, and would end the others' informers.
func (f *facade) Start(<-chan struct{}) { f.StartWithContext(f.ctx) }

func (f *facade) StartWithContext(context.Context) {
	start := func() {
		f.typed.StartWithContext(f.ctx)
		f.metadata.Start(f.ctx.Done())
	}
	if f.sharedRecorder == nil {
		start()
		return
	}
	f.sharedRecorder.Do(start)
}

// Shutdown does nothing: the supervisor ends the shared informers.
func (f *facade) Shutdown() {}

func (f *facade) WaitForCacheSync(stop <-chan struct{}) map[reflect.Type]bool {
	return f.typed.WaitForCacheSync(stop)
}

func (f *facade) WaitForCacheSyncWithContext(ctx context.Context) cache.SyncResult {
	return f.typed.WaitForCacheSyncWithContext(ctx)
}

func (f *facade) InformerName() *cache.InformerName { return f.typed.InformerName() }

func (f *facade) InformerFor(obj runtime.Object, build internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	return f.wrapInformer(f.typed.InformerFor(obj, build), ResourceOf(obj))
}

func (f *facade) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := f.typed.ForResource(gvr)
	if err != nil {
		return nil, err
	}
	return ownedGenericInformer{generic, f.wrapInformer(generic.Informer(), gvr)}, nil
}

func (f *facade) wrapInformer(informer cache.SharedIndexInformer, of schema.GroupVersionResource) cache.SharedIndexInformer {
	return ownedInformer{informer, f, of}
}

// close removes the controller's handlers and returns when none of them runs.
func (f *facade) close() error {
	f.mu.Lock()
	handlers := f.handlers
	f.handlers = nil
	f.mu.Unlock()
	var errs []error
	for _, h := range handlers {
		if err := cache.ShutDownEventHandler(h.informer, h.registration); err != nil {
			errs = append(errs, fmt.Errorf("remove event handler: %w", err))
		}
		h.deliveries.Close()
	}
	return errors.Join(errs...)
}

// objectOrMetadata gives typed informers where there is a type, and metadata
// informers for the rest, through the facade.
type objectOrMetadata struct{ *facade }

func (o objectOrMetadata) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	if generic, err := o.facade.ForResource(gvr); err == nil {
		return generic, nil
	}
	generic := o.metadata.ForResource(gvr)
	return ownedGenericInformer{generic, o.wrapInformer(generic.Informer(), gvr)}, nil
}

type ownedGenericInformer struct {
	informers.GenericInformer
	informer cache.SharedIndexInformer
}

func (g ownedGenericInformer) Informer() cache.SharedIndexInformer { return g.informer }

// ownedInformer is a shared informer that notes whose handlers are added.
type ownedInformer struct {
	cache.SharedIndexInformer
	facade   *facade
	resource schema.GroupVersionResource
}

func (i ownedInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.addHandler(h, i.SharedIndexInformer.AddEventHandler)
}

func (i ownedInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.addHandler(h, func(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
		return i.SharedIndexInformer.AddEventHandlerWithResyncPeriod(h, period)
	})
}

func (i ownedInformer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	return i.addHandler(h, func(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
		return i.SharedIndexInformer.AddEventHandlerWithOptions(h, o)
	})
}

// addHandler adds a handler, and notes whose it is.
func (i ownedInformer) addHandler(h cache.ResourceEventHandler, to func(cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error)) (cache.ResourceEventHandlerRegistration, error) {
	told := i.newDeliveryHandler() // before the handler can be told anything
	reg, err := to(i.recordDeliveries(h, told))
	if err != nil {
		told.Close()
		return reg, err
	}
	told.SetInformer(observe.InformerState{Version: i.LastSyncResourceVersion, Listed: reg.HasSynced})
	i.facade.mu.Lock()
	defer i.facade.mu.Unlock()
	i.facade.handlers = append(i.facade.handlers, ownedHandler{i.SharedIndexInformer, reg, told})
	return reg, nil
}

func (i ownedInformer) RemoveEventHandler(reg cache.ResourceEventHandlerRegistration) error {
	i.facade.mu.Lock()
	i.facade.handlers = slices.DeleteFunc(i.facade.handlers, func(h ownedHandler) bool {
		if h.registration != reg {
			return false
		}
		h.deliveries.Close()
		return true
	})
	i.facade.mu.Unlock()
	return i.SharedIndexInformer.RemoveEventHandler(reg)
}

// AddIndexers leaves out what an earlier run of the controller has added: the
// shared informer takes each name once.
func (i ownedInformer) AddIndexers(indexers cache.Indexers) error {
	have := i.GetIndexer().GetIndexers()
	fresh := cache.Indexers{}
	for name, index := range indexers {
		if have[name] == nil {
			fresh[name] = index
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	return i.SharedIndexInformer.AddIndexers(fresh)
}
