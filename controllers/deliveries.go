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

// ResourceOf is the resource that a typed informer of obj watches.
func ResourceOf(obj runtime.Object) schema.GroupVersionResource {
	all, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil || len(all) == 0 {
		return schema.GroupVersionResource{}
	}
	plural, _ := meta.UnsafeGuessKindToResource(all[0])
	return plural
}

// newDeliveryHandler notes a handler that is about to be added; nil if nobody looks.
func (i ownedInformer) newDeliveryHandler() *observe.Handler {
	if i.facade.recorder == nil {
		return nil
	}
	return i.facade.recorder.AddHandler(i.resource.GroupResource().String())
}

// recordDeliveries makes the events that h is given known to the controller's recorder.
func (i ownedInformer) recordDeliveries(h cache.ResourceEventHandler, told *observe.Handler) cache.ResourceEventHandler {
	if i.facade.recorder == nil {
		return h
	}
	of := observe.Object{Group: i.resource.Group, Resource: i.resource.Resource, Kind: builtInKinds()[i.resource]}
	return deliveryRecorder{h, i.facade.recorder, told, of}
}

// deliveryRecorder takes down the events that a handler is given.
type deliveryRecorder struct {
	next     cache.ResourceEventHandler
	recorder *observe.Recorder
	handler  *observe.Handler
	object   observe.Object // without a name
}

func (d deliveryRecorder) OnAdd(obj any, listed bool) {
	change := observe.Added
	if listed {
		change = observe.Listed
	}
	d.deliver(d.newEvent(obj, change), func() { d.next.OnAdd(obj, listed) })
}

func (d deliveryRecorder) OnUpdate(before, obj any) {
	e := d.newEvent(obj, observe.Updated)
	if old, ok := before.(metav1.Object); ok && old.GetResourceVersion() == e.ResourceVersion {
		e.Change = observe.Resynced
	}
	d.deliver(e, func() { d.next.OnUpdate(before, obj) })
}

func (d deliveryRecorder) OnDelete(obj any) {
	d.deliver(d.newEvent(obj, observe.Deleted), func() { d.next.OnDelete(obj) })
}

func (d deliveryRecorder) deliver(e *observe.Delivered, handle func()) {
	d.recorder.Deliver(e, handle)
	d.handler.MarkDelivered(e.ResourceVersion)
}

func (d deliveryRecorder) newEvent(obj any, change observe.Change) *observe.Delivered {
	e := &observe.Delivered{Change: change, Object: d.object}
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
