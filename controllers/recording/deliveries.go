package recording

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"

	"github.com/ctrlplane/ctrlplane/observe"
)

// ResourceOf returns the resource that a typed informer of obj watches.
func ResourceOf(obj runtime.Object) schema.GroupVersionResource {
	all, _, err := scheme.Scheme.ObjectKinds(obj)
	if err != nil || len(all) == 0 {
		return schema.GroupVersionResource{}
	}
	plural, _ := meta.UnsafeGuessKindToResource(all[0])
	return plural
}

// ObserveEvents returns a handler that records the events of a resource and
// passes them to h. The second result tracks how far the handler has followed
// the resource: its owner sets the informer and closes it. Without a recorder h
// is returned as it is. Nothing is tracked without a recorder, and if the informer
// is filtered: it does not receive every version.
func ObserveEvents(h cache.ResourceEventHandler, of schema.GroupVersionResource, filtered bool, recorder *observe.Recorder) (cache.ResourceEventHandler, *observe.Handler) {
	if recorder == nil {
		return h, nil
	}
	var progress *observe.Handler
	if filtered {
		recorder.AddWatch(of.GroupResource().String())
	} else {
		progress = recorder.AddHandler(of.GroupResource().String())
	}
	object := observe.Object{Group: of.Group, Resource: of.Resource, Kind: builtInKinds()[of].kind}
	return &deliveryRecorder{h, recorder, progress, object}, progress
}

// deliveryRecorder is an event handler that records its events.
type deliveryRecorder struct {
	next     cache.ResourceEventHandler
	recorder *observe.Recorder
	handler  *observe.Handler
	object   observe.Object // of the resource, without a name
}

func (d *deliveryRecorder) OnAdd(obj any, isInInitialList bool) {
	change := observe.Added
	if isInInitialList {
		change = observe.Listed
	}
	e := d.describe(obj, change)
	e.NoExecute = noExecuteOf(obj)
	at := d.recorder.Deliver(&e, func() { d.next.OnAdd(obj, isInInitialList) })
	d.handler.MarkDelivered(e.ResourceVersion, at)
}

func (d *deliveryRecorder) OnUpdate(before, obj any) {
	e := d.describe(obj, observe.Updated)
	CompleteUpdate(&e, before, obj)
	at := d.recorder.Deliver(&e, func() { d.next.OnUpdate(before, obj) })
	d.handler.MarkDelivered(e.ResourceVersion, at)
}

// CompleteUpdate adds to the event of an update how the version that is delivered differs from the one before. All handlers say it in
// the same way: those that do nothing share a record.
func CompleteUpdate(e *observe.Delivered, before, after any) {
	old, hadMetadata := before.(metav1.Object)
	if object, ok := after.(metav1.Object); ok && hadMetadata {
		if old.GetResourceVersion() == object.GetResourceVersion() {
			e.Change = observe.Resynced
		}
		e.Deleting = object.GetDeletionTimestamp() != nil && old.GetDeletionTimestamp() == nil
	}
	e.Unchanged, e.TakenBy, e.NoExecute = isUnchanged(before, after), takerOf(before, after), changedNoExecute(before, after)
	e.Became = transitionOf(before, after)
}

func (d *deliveryRecorder) OnDelete(obj any) {
	e := d.describe(obj, observe.Deleted)
	at := d.recorder.Deliver(&e, func() { d.next.OnDelete(obj) })
	d.handler.MarkDelivered(e.ResourceVersion, at)
}

// describe returns the event of an object. It is a value because most events need no place of their own.
func (d *deliveryRecorder) describe(obj any, change observe.Change) observe.Delivered {
	e := observe.Delivered{Change: change, Object: d.object}
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
		if obj == nil {
			e.Object.Namespace, e.Object.Name, _ = cache.SplitMetaNamespaceKey(tombstone.Key)
			return e
		}
	}
	if o, ok := obj.(metav1.Object); ok {
		e.Object.Namespace, e.Object.Name, e.Object.UID = o.GetNamespace(), o.GetName(), string(o.GetUID())
		e.ResourceVersion = o.GetResourceVersion()
		e.Deleting = change != observe.Deleted && o.GetDeletionTimestamp() != nil
	}
	return e
}
