package controllers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"

	"github.com/ctrlplane/ctrlplane/controllers/intervene"
	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// informerView is one controller's view of the shared informers. It tracks the event
// handlers that the controller adds, to remove them when it stops, and decides
// when informers start. The stores are shared.
type informerView struct {
	typed          informers.SharedInformerFactory
	tracked        *trackedFactory // what typed wraps
	metadata       metadatainformer.SharedInformerFactory
	ctx            context.Context   // of the shared informers, not of the controller
	sharedRecorder *observe.Recorder // of the shared informers' own calls; may be nil
	recorder       *observe.Recorder // of the events that the handlers receive; may be nil
	owner          *informerView     // that removes the handlers; nil = this one
	filter         filter            // of the objects that the informers of one resource hold
	barrier        *handlerBarrier   // while the controller is built or, with an owner, until Start or Shutdown; nil = none
	gate           *intervene.Gate   // where syncs wait that read a store; nil = they do not

	mu       sync.Mutex
	handlers []ownedHandler
	used     map[reflect.Type]cache.SharedIndexInformer // by the type of their objects
	derived  []*informerView                            // of which this one is the owner, until their Shutdown
}

type ownedHandler struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
	deliveries   *observe.Handler // nil without a recorder
}

var (
	_ informers.SharedInformerFactory = (*informerView)(nil)
	_ informerfactory.InformerFactory = objectOrMetadata{}
)

func (v *informerView) handlerOwner() *informerView {
	if v.owner != nil {
		return v.owner
	}
	return v
}

// Start starts the informers that do not run yet. It ignores the channel: some
// controllers pass their own, which would stop the informers of all.
func (v *informerView) Start(<-chan struct{}) { v.StartWithContext(v.ctx) }

func (v *informerView) StartWithContext(context.Context) {
	v.sharedRecorder.Do(func() {
		v.typed.StartWithContext(v.ctx)
		v.metadata.Start(v.ctx.Done())
	})
	if v.owner != nil {
		v.barrier.release(false)
	}
}

// Shutdown discards events that wait for Start. The supervisor stops the shared informers.
func (v *informerView) Shutdown() {
	if v.owner != nil {
		v.barrier.release(true)
		v.owner.forgetView(v)
	}
}

func (v *informerView) forgetView(derived *informerView) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.derived = slices.DeleteFunc(v.derived, func(d *informerView) bool { return d == derived })
}

func (v *informerView) WaitForCacheSync(stop <-chan struct{}) map[reflect.Type]bool {
	return v.WaitForCacheSyncWithContext(wait.ContextForChannel(stop)).Synced
}

// WaitForCacheSyncWithContext waits for the informers that the controller uses: those of kinds
// that only others use may never sync.
func (v *informerView) WaitForCacheSyncWithContext(ctx context.Context) cache.SyncResult {
	v.mu.Lock()
	used := maps.Clone(v.used)
	v.mu.Unlock()
	var checks []cache.DoneChecker
	for _, informer := range used {
		checks = append(checks, informer.HasSyncedChecker())
	}
	cache.WaitFor(ctx, "", checks...)
	result := cache.SyncResult{Synced: map[reflect.Type]bool{}}
	for kind, informer := range used {
		result.Synced[kind] = informer.HasSynced()
		if !result.Synced[kind] {
			result.Err = context.Cause(ctx)
		}
	}
	return result
}

// unlisted returns why kinds that the controller uses, here or in a derived view, cannot be listed.
func (v *informerView) unlisted() (reasons []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for kind := range v.used {
		if err := v.tracked.errorOf(kind); err != nil {
			reasons = append(reasons, err.Error())
		}
	}
	for _, d := range v.derived {
		reasons = append(reasons, d.unlisted()...)
	}
	slices.Sort(reasons)
	return slices.Compact(reasons)
}

func (v *informerView) InformerName() *cache.InformerName { return v.typed.InformerName() }

func (v *informerView) InformerFor(obj runtime.Object, build internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	informer := v.typed.InformerFor(obj, build)
	v.mu.Lock()
	if v.used == nil {
		v.used = map[reflect.Type]cache.SharedIndexInformer{}
	}
	v.used[reflect.TypeOf(obj)] = informer
	v.mu.Unlock()
	return v.wrapInformer(informer, recording.ResourceOf(obj))
}

func (v *informerView) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	generic, err := v.typed.ForResource(gvr)
	if err != nil {
		return nil, err
	}
	return ownedGenericInformer{generic, v.wrapInformer(generic.Informer(), gvr)}, nil
}

func (v *informerView) wrapInformer(informer cache.SharedIndexInformer, of schema.GroupVersionResource) cache.SharedIndexInformer {
	return ownedInformer{informer, v, of}
}

// close removes the controller's handlers, and returns when none of them runs.
func (v *informerView) close() error {
	v.mu.Lock()
	handlers := v.handlers
	v.handlers = nil
	v.mu.Unlock()
	var errs []error
	for _, h := range handlers {
		if err := cache.ShutDownEventHandler(h.informer, h.registration); err != nil {
			errs = append(errs, fmt.Errorf("remove event handler: %w", err))
		}
		h.deliveries.Close()
	}
	return errors.Join(errs...)
}

// objectOrMetadata provides typed informers of built-in resources, and metadata
// informers of all others, through the view.
type objectOrMetadata struct{ *informerView }

func (o objectOrMetadata) ForResource(gvr schema.GroupVersionResource) (informers.GenericInformer, error) {
	if generic, err := o.informerView.ForResource(gvr); err == nil {
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

// ownedInformer is a shared informer that adds handlers on behalf of a view.
type ownedInformer struct {
	cache.SharedIndexInformer
	view     *informerView
	resource schema.GroupVersionResource
}

func (i ownedInformer) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{})
}

func (i ownedInformer) AddEventHandlerWithResyncPeriod(h cache.ResourceEventHandler, period time.Duration) (cache.ResourceEventHandlerRegistration, error) {
	return i.AddEventHandlerWithOptions(h, cache.HandlerOptions{ResyncPeriod: &period})
}

// AddEventHandlerWithOptions adds a handler of the controller. An event passes, outermost first, the deferredHandler of the barrier,
// the filter of a derived view, what records the delivery, and h.
func (i ownedInformer) AddEventHandlerWithOptions(h cache.ResourceEventHandler, o cache.HandlerOptions) (cache.ResourceEventHandlerRegistration, error) {
	view := i.view
	if view.owner != nil && o.ResyncPeriod == nil { // its user expects informers without resyncs
		o.ResyncPeriod = new(time.Duration)
	}
	isFiltered := view.filter.appliesTo(i.resource)
	h, deliveries := recording.ObserveEvents(h, i.resource, isFiltered, view.recorder)
	if isFiltered {
		h = view.filter.filterEvents(h)
	}
	if view.barrier != nil {
		h = deferredHandler{h, view.barrier}
	}
	reg, err := i.SharedIndexInformer.AddEventHandlerWithOptions(h, o)
	if err != nil {
		deliveries.Close()
		return reg, err
	}
	deliveries.SetInformer(observe.InformerState{Version: i.LastSyncResourceVersion, Listed: reg.HasSynced})
	owner := view.handlerOwner()
	owner.mu.Lock()
	defer owner.mu.Unlock()
	owner.handlers = append(owner.handlers, ownedHandler{i.SharedIndexInformer, reg, deliveries})
	return reg, nil
}

func (i ownedInformer) RemoveEventHandler(reg cache.ResourceEventHandlerRegistration) error {
	owner := i.view.handlerOwner()
	owner.mu.Lock()
	owner.handlers = slices.DeleteFunc(owner.handlers, func(h ownedHandler) bool {
		if h.registration != reg {
			return false
		}
		h.deliveries.Close()
		return true
	})
	owner.mu.Unlock()
	return i.SharedIndexInformer.RemoveEventHandler(reg)
}

// AddIndexers skips the indexers that an earlier run of the controller has added:
// the shared informer accepts each name once.
func (i ownedInformer) AddIndexers(indexers cache.Indexers) error {
	return addMissingIndexers(i.GetIndexer(), indexers, i.SharedIndexInformer.AddIndexers)
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
