package instrument

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// observedCache is a cache whose informers note the events that handlers of controllers
// receive.
type observedCache struct {
	cache.Cache
	reporter *reporter
	scheme   *runtime.Scheme
	mapper   meta.RESTMapper
}

// GetInformer implements cache.Informers.
func (c *observedCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	if err != nil {
		return informer, err
	}
	gvk, err := apiutil.GVKForObject(obj, c.scheme)
	if err != nil {
		c.reporter.logError(err, "events are not reported", "object", obj)
		return informer, nil
	}
	return c.observe(ctx, informer, gvk), nil
}

// GetInformerForKind implements cache.Informers.
func (c *observedCache) GetInformerForKind(ctx context.Context, gvk schema.GroupVersionKind, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformerForKind(ctx, gvk, opts...)
	if err != nil {
		return informer, err
	}
	return c.observe(ctx, informer, gvk), nil
}

// observe returns an informer that notes what its handlers receive, if a controller asks
// for it.
func (c *observedCache) observe(ctx context.Context, informer cache.Informer, gvk schema.GroupVersionKind) cache.Informer {
	owner, ok := ctx.Value(controllerKey{}).(*controller)
	if !ok || c.reporter.isOff() {
		return informer
	}
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		c.reporter.logError(err, "events are not reported", "kind", gvk.Kind)
		return informer
	}
	observed := observedInformer{informer, eventSource{owner, gvk.Group, mapping.Resource.Resource, gvk.Kind}}
	if shared, ok := informer.(toolscache.SharedIndexInformer); ok {
		return &observedSharedInformer{shared, observed}
	}
	return &observed
}

// eventSource is where the events of a handler come from.
type eventSource struct {
	controller            *controller
	group, resource, kind string
}

// observedInformer notes what its handlers receive.
type observedInformer struct {
	cache.Informer
	source eventSource
}

// AddEventHandler implements cache.Informer.
func (i *observedInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(&observedHandler{h, i.source})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i *observedInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithResyncPeriod(&observedHandler{h, i.source}, period)
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *observedInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(&observedHandler{h, i.source}, o)
}

// observedSharedInformer is the same for an informer of one cache: programs assert that it is a
// SharedIndexInformer, for its store.
type observedSharedInformer struct {
	toolscache.SharedIndexInformer
	observed observedInformer
}

// AddEventHandler implements cache.SharedInformer.
func (i *observedSharedInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.observed.AddEventHandler(h)
}

// AddEventHandlerWithResyncPeriod implements cache.SharedInformer.
func (i *observedSharedInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.observed.AddEventHandlerWithResyncPeriod(h, period)
}

// AddEventHandlerWithOptions implements cache.SharedInformer.
func (i *observedSharedInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.observed.AddEventHandlerWithOptions(h, o)
}

// observedHandler notes the events that a handler receives.
type observedHandler struct {
	toolscache.ResourceEventHandler
	source eventSource
}

// OnAdd implements cache.ResourceEventHandler.
func (h *observedHandler) OnAdd(obj any, initial bool) {
	change := "added"
	if initial {
		change = "listed"
	}
	h.observe(obj, nil, change, func() { h.ResourceEventHandler.OnAdd(obj, initial) })
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *observedHandler) OnUpdate(before, after any) {
	h.observe(after, before, "updated", func() { h.ResourceEventHandler.OnUpdate(before, after) })
}

// OnDelete implements cache.ResourceEventHandler.
func (h *observedHandler) OnDelete(obj any) {
	h.observe(obj, nil, "deleted", func() { h.ResourceEventHandler.OnDelete(obj) })
}

// eventRun is an event that a handler has received.
type eventRun struct {
	id    uint64
	adds  []uint64
	later []time.Time
	// delays is set if it has added a key with a delay that is not known, or that does not count.
	delays bool
}

// observe runs a handler and reports the event, with the keys that the handler has added.
func (h *observedHandler) observe(obj, before any, change string, handle func()) {
	r := h.source.controller.reporter
	if last, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	m, err := meta.Accessor(obj)
	if err != nil || r.isOff() {
		handle()
		return
	}
	e := &eventRun{id: r.numbers.events.Add(1)}
	leave := r.goroutines.enter(work{event: e})
	began := time.Now()
	defer func() { // a handler that panics ends the process: what it did is reported first
		leave()
		r.append(record{Event: h.source.newRecord(e, m, before, change, began)})
	}()
	handle()
}

func (s *eventSource) newRecord(e *eventRun, m metav1.Object, before any, change string, began time.Time) *eventRecord {
	r := &eventRecord{
		ID: e.id, Controller: s.controller.name, Time: began, Took: time.Since(began), Change: change,
		Group: s.group, Resource: s.resource, Kind: s.kind,
		Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID()), ResourceVersion: m.GetResourceVersion(),
		Adds: e.adds, Later: e.later, Delays: e.delays,
	}
	if old, err := meta.Accessor(before); before != nil && err == nil {
		r.Deleting = old.GetDeletionTimestamp() == nil && m.GetDeletionTimestamp() != nil
		if old.GetResourceVersion() == r.ResourceVersion {
			r.Change = "resynced"
		}
	}
	return r
}
