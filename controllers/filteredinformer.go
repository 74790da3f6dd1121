package controllers

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// viewFiltered is a view of the same informers that behaves like a factory of its own, in
// which the informers of one resource have a field selector that is met if keep is true. No
// handler runs before Start, and none gets resyncs unless it asks for them. Either Start or
// Shutdown must be called. Reads of the stores do not wait when the control plane is slowed
// down.
func (v *informerView) viewFiltered(resource schema.GroupVersionResource, keep func(obj any) bool) informers.SharedInformerFactory {
	derived := &informerView{
		typed: v.typed, tracked: v.tracked, metadata: v.metadata, ctx: v.ctx, sharedRecorder: v.sharedRecorder, recorder: v.recorder,
		owner: v, filter: filter{resource, keep}, barrier: &handlerBarrier{},
	}
	derived.barrier.hold()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.derived = append(v.derived, derived)
	return derived
}

// filter selects objects of a resource.
type filter struct {
	resource schema.GroupVersionResource
	keep     func(obj any) bool // nil keeps the objects of all resources
}

func (f filter) appliesTo(resource schema.GroupVersionResource) bool {
	return f.keep != nil && f.resource == resource
}

// filterEvents returns a handler that passes the events of the selected objects on. An object that ceases to be selected is
// deleted in them.
func (f filter) filterEvents(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	return selectingHandler{cache.FilteringResourceEventHandler{Handler: h, FilterFunc: func(obj any) bool {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		return f.keep(obj)
	}}}
}

// selectingHandler receives what a watch with a field selector sends: an object that ceases to be selected is deleted
// as it was before, with the resource version of the change.
type selectingHandler struct {
	cache.FilteringResourceEventHandler
}

func (h selectingHandler) OnUpdate(before, obj any) {
	old, isObject := before.(runtime.Object)
	now, hasVersion := obj.(metav1.Object)
	if !isObject || !hasVersion || !h.FilterFunc(before) || h.FilterFunc(obj) {
		h.FilteringResourceEventHandler.OnUpdate(before, obj)
		return
	}
	gone := old.DeepCopyObject()
	gone.(metav1.Object).SetResourceVersion(now.GetResourceVersion())
	h.Handler.OnDelete(gone)
}

// filteredIndexer is a view of a store for reading.
type filteredIndexer struct {
	cache.Indexer
	keep func(obj any) bool
}

func (x filteredIndexer) keepOnly(items []any) []any {
	return slices.DeleteFunc(items, func(obj any) bool { return !x.keep(obj) })
}

func (x filteredIndexer) List() []any { return x.keepOnly(x.Indexer.List()) }

func (x filteredIndexer) ListKeys() []string { return x.keepKeys(x.Indexer.ListKeys()) }

func (x filteredIndexer) Get(obj any) (item any, exists bool, err error) {
	return x.keepItem(x.Indexer.Get(obj))
}

func (x filteredIndexer) GetByKey(key string) (item any, exists bool, err error) {
	return x.keepItem(x.Indexer.GetByKey(key))
}

func (x filteredIndexer) keepItem(item any, exists bool, err error) (any, bool, error) {
	if !exists || err != nil || !x.keep(item) {
		return nil, false, err
	}
	return item, true, nil
}

func (x filteredIndexer) Index(indexName string, obj any) ([]any, error) {
	items, err := x.Indexer.Index(indexName, obj)
	return x.keepOnly(items), err
}

func (x filteredIndexer) ByIndex(indexName, indexedValue string) ([]any, error) {
	items, err := x.Indexer.ByIndex(indexName, indexedValue)
	return x.keepOnly(items), err
}

func (x filteredIndexer) IndexKeys(indexName, indexedValue string) ([]string, error) {
	keys, err := x.Indexer.IndexKeys(indexName, indexedValue)
	return x.keepKeys(keys), err
}

// keepKeys leaves out keys of objects that are not kept, and of those that have gone
// meanwhile.
func (x filteredIndexer) keepKeys(keys []string) []string {
	return slices.DeleteFunc(keys, func(key string) bool {
		_, exists, err := x.GetByKey(key)
		return err != nil || !exists
	})
}
