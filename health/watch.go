package health

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/ctrlplane/ctrlplane/internal/kinds"
	"github.com/ctrlplane/ctrlplane/internal/sleep"
)

// objectWatcher watches objects of one kind in one namespace.
type objectWatcher struct {
	*Waiter
	gvk       schema.GroupVersionKind
	namespace string
	status    string         // see resource.statusResource
	resource  string         // as RESOURCE.GROUP
	entries   map[string]int // by name
	gone      bool           // they are to be gone
	changes   chan<- objectUpdate
}

// run watches the objects until ctx ends. It retries on every error: the server may be
// busy or starting, and the kind may not be served yet.
func (w *objectWatcher) run(ctx context.Context) {
	pause := newBackoff()
	for ctx.Err() == nil {
		err := w.listAndWatch(ctx, func() { pause = newBackoff() })
		if s, ok := w.stateForError(err); ok {
			for name := range w.entries {
				w.send(ctx, name, objectUpdate{state: s})
			}
		}
		sleep.For(ctx, pause.Step())
	}
}

// newBackoff returns the delays between attempts. They are short because a user waits.
func newBackoff() *wait.Backoff {
	return &wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.5, Jitter: 0.1, Steps: 100, Cap: time.Second}
}

// stateForError returns the state of objects that cannot be read because of err.
func (w *objectWatcher) stateForError(err error) (State, bool) {
	switch {
	case err == nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return State{}, false
	case errors.Is(err, errNotServed):
		// Which versions of its groups Kubernetes serves does not change while it runs.
		return State{Status: NotFound, Message: plainError(err), Final: !kinds.IsCustom(w.gvk.GroupKind())}, true
	case errors.Is(err, errNotWatchable):
		return State{Status: Unknown, Message: plainError(err), Final: true}, true
	}
	return State{Status: Unknown, Message: plainError(err)}, true
}

// listAndWatch lists the objects and then watches them. It returns when the watch cannot
// be resumed.
func (w *objectWatcher) listAndWatch(ctx context.Context, worked func()) error {
	r, err := w.findResource(ctx, w.gvk)
	if err != nil {
		return err
	}
	w.namespace, w.status, w.resource = r.namespace(w.namespace), r.statusResource(), r.GroupResource().String()
	client := r.client(w.objects, w.namespace)
	list, err := client.List(ctx, w.listOptions())
	if err != nil {
		return asNotServed(err, w.gvk)
	}
	worked()
	w.reportAll(ctx, list)
	return w.watch(ctx, client, list.GetResourceVersion())
}

// listOptions selects the object if there is only one.
func (w *objectWatcher) listOptions() metav1.ListOptions {
	var o metav1.ListOptions
	if len(w.entries) == 1 {
		for name := range w.entries {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	}
	return o
}

// reportAll reports all objects of a list, and which are missing.
func (w *objectWatcher) reportAll(ctx context.Context, list *unstructured.UnstructuredList) {
	found := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		found[list.Items[i].GetName()] = &list.Items[i]
	}
	for name := range w.entries {
		update := objectUpdate{object: found[name]}
		if update.object == nil && !w.gone {
			update.object = w.findExpired(ctx, w.ref(name))
			update.isLast = update.object != nil
		}
		w.send(ctx, name, update)
	}
}

func (w *objectWatcher) ref(name string) Ref { return Ref{w.gvk, w.namespace, name} }

// watch reports events after a resource version. It resumes an interrupted watch.
func (w *objectWatcher) watch(ctx context.Context, client dynamic.ResourceInterface, version string) error {
	pause := newBackoff()
	for ctx.Err() == nil {
		o := w.listOptions()
		o.ResourceVersion, o.AllowWatchBookmarks = version, true
		events, err := client.Watch(ctx, o)
		if err != nil {
			return asNotServed(err, w.gvk)
		}
		last, err := w.readEvents(ctx, events)
		events.Stop()
		switch {
		case err != nil:
			return err
		case last != "":
			version, pause = last, newBackoff()
		}
		sleep.For(ctx, pause.Step())
	}
	return nil
}

// readEvents reports events until the watch ends, and returns the last version.
func (w *objectWatcher) readEvents(ctx context.Context, events watch.Interface) (last string, err error) {
	for {
		select {
		case <-ctx.Done():
			return last, nil
		case event, ok := <-events.ResultChan():
			if !ok {
				return last, nil
			}
			if last, err = w.handleEvent(ctx, event); err != nil {
				return last, err
			}
		}
	}
}

func (w *objectWatcher) handleEvent(ctx context.Context, event watch.Event) (version string, err error) {
	if event.Type == watch.Error {
		return "", apierrors.FromObject(event.Object)
	}
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return "", fmt.Errorf("watch kind %s: unexpected object of type %T", w.gvk.Kind, event.Object)
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		w.send(ctx, u.GetName(), objectUpdate{object: u})
	case watch.Deleted:
		w.send(ctx, u.GetName(), objectUpdate{last: u})
	}
	return u.GetResourceVersion(), nil
}

// send sends an update of an object if it is one to wait for.
func (w *objectWatcher) send(ctx context.Context, name string, update objectUpdate) {
	i, ok := w.entries[name]
	if !ok {
		return
	}
	update.entry, update.ref, update.status, update.resource = i, w.ref(name), w.status, w.resource
	select {
	case w.changes <- update:
	case <-ctx.Done():
	}
}
