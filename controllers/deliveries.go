package controllers

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/observe"
)

// resourceOf is the resource that a typed informer of obj watches.
func resourceOf(obj runtime.Object) schema.GroupVersionResource {
	all, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil || len(all) == 0 {
		return schema.GroupVersionResource{}
	}
	plural, _ := meta.UnsafeGuessKindToResource(all[0])
	return plural
}

// handler notes a handler that is about to be added; nil if nobody looks.
func (i ownedInformer) handler() *observe.Handler {
	if i.facade.by == nil {
		return nil
	}
	return i.facade.by.Handler(i.of.GroupResource().String())
}

// delivered makes the events that h is given known to the controller's recorder.
func (i ownedInformer) delivered(h cache.ResourceEventHandler, told *observe.Handler) cache.ResourceEventHandler {
	if i.facade.by == nil {
		return h
	}
	of := observe.Object{Group: i.of.Group, Resource: i.of.Resource, Kind: kinds()[i.of]}
	return deliverer{h, i.facade.by, told, of}
}

// deliverer takes down the events that a handler is given.
type deliverer struct {
	next cache.ResourceEventHandler
	by   *observe.Recorder
	told *observe.Handler
	of   observe.Object // without a name
}

func (d deliverer) OnAdd(obj any, listed bool) {
	change := observe.Added
	if listed {
		change = observe.Listed
	}
	d.deliver(d.event(obj, change), func() { d.next.OnAdd(obj, listed) })
}

func (d deliverer) OnUpdate(before, obj any) {
	e := d.event(obj, observe.Updated)
	if old, ok := before.(metav1.Object); ok && old.GetResourceVersion() == e.ResourceVersion {
		e.Change = observe.Resynced
	}
	d.deliver(e, func() { d.next.OnUpdate(before, obj) })
}

func (d deliverer) OnDelete(obj any) {
	d.deliver(d.event(obj, observe.Deleted), func() { d.next.OnDelete(obj) })
}

func (d deliverer) deliver(e *observe.Delivered, handle func()) {
	d.by.Deliver(e, handle)
	d.told.Told(e.ResourceVersion)
}

func (d deliverer) event(obj any, change observe.Change) *observe.Delivered {
	e := &observe.Delivered{Change: change, Object: d.of}
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
		if obj == nil {
			e.Object.Namespace, e.Object.Name, _ = cache.SplitMetaNamespaceKey(gone.Key)
			return e
		}
	}
	if o, ok := obj.(metav1.Object); ok {
		e.Object.Namespace, e.Object.Name, e.Object.UID = o.GetNamespace(), o.GetName(), string(o.GetUID())
		e.ResourceVersion = o.GetResourceVersion()
	}
	return e
}
