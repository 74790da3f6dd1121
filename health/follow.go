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
)

// follower tells what becomes of objects of one kind in one namespace.
type follower struct {
	*Waiter
	gvk       schema.GroupVersionKind
	namespace string
	entries   map[string]int // by name
	changes   chan<- change
}

// run follows the objects until ctx ends. What fails is tried again: the server
// may be busy or starting, and the kind may be one that is just being defined.
func (f *follower) run(ctx context.Context) {
	pause := pauses()
	for ctx.Err() == nil {
		err := f.follow(ctx, func() { pause = pauses() })
		if s, ok := f.trouble(err); ok {
			for name := range f.entries {
				f.tell(ctx, name, nil, s)
			}
		}
		sleep(ctx, pause.Step())
	}
}

// pauses are those between attempts, as short as somebody who waits would like.
func pauses() *wait.Backoff {
	return &wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.5, Jitter: 0.1, Steps: 100, Cap: time.Second}
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// trouble is the state of objects that cannot be seen for err.
func (f *follower) trouble(err error) (State, bool) {
	switch {
	case err == nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err):
		return State{}, false
	case errors.Is(err, errNotServed):
		return State{Status: NotFound, Message: plain(err)}, true
	case errors.Is(err, errNoWatch):
		return State{Status: Unknown, Message: plain(err), Final: true}, true
	}
	return State{Status: Unknown, Message: plain(err)}, true
}

// follow lists the objects and watches them from there. It returns when the
// watch cannot be resumed.
func (f *follower) follow(ctx context.Context, worked func()) error {
	r, err := f.resource(ctx, f.gvk)
	if err != nil {
		return err
	}
	f.namespace = r.namespace(f.namespace)
	client := r.client(f.objects, f.namespace)
	list, err := client.List(ctx, f.options())
	if err != nil {
		return served(err, f.gvk)
	}
	worked()
	f.replace(ctx, list)
	return f.watch(ctx, client, list.GetResourceVersion())
}

// options select the object, if there is but one.
func (f *follower) options() metav1.ListOptions {
	var o metav1.ListOptions
	if len(f.entries) == 1 {
		for name := range f.entries {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
	}
	return o
}

// replace tells how all the objects are.
func (f *follower) replace(ctx context.Context, list *unstructured.UnstructuredList) {
	found := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		found[list.Items[i].GetName()] = &list.Items[i]
	}
	for name := range f.entries {
		f.tell(ctx, name, found[name], State{})
	}
}

// watch tells of events after a resource version. A watch that is cut is resumed
// where it was.
func (f *follower) watch(ctx context.Context, client dynamic.ResourceInterface, version string) error {
	pause := pauses()
	for ctx.Err() == nil {
		o := f.options()
		o.ResourceVersion, o.AllowWatchBookmarks = version, true
		w, err := client.Watch(ctx, o)
		if err != nil {
			return served(err, f.gvk)
		}
		last, err := f.events(ctx, w)
		w.Stop()
		switch {
		case err != nil:
			return err
		case last != "":
			version, pause = last, pauses()
		}
		sleep(ctx, pause.Step())
	}
	return nil
}

// events tells of what comes until the watch ends, and returns the version of
// the last.
func (f *follower) events(ctx context.Context, w watch.Interface) (last string, err error) {
	for {
		select {
		case <-ctx.Done():
			return last, nil
		case event, ok := <-w.ResultChan():
			if !ok {
				return last, nil
			}
			if last, err = f.event(ctx, event); err != nil {
				return last, err
			}
		}
	}
}

func (f *follower) event(ctx context.Context, event watch.Event) (version string, err error) {
	if event.Type == watch.Error {
		return "", apierrors.FromObject(event.Object)
	}
	u, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return "", fmt.Errorf("watch kind %s: an event has an object of type %T", f.gvk.Kind, event.Object)
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		f.tell(ctx, u.GetName(), u, State{})
	case watch.Deleted:
		f.tell(ctx, u.GetName(), nil, State{})
	}
	return u.GetResourceVersion(), nil
}

// tell passes on how an object is, unless nobody asked for it.
func (f *follower) tell(ctx context.Context, name string, u *unstructured.Unstructured, s State) {
	i, ok := f.entries[name]
	if !ok {
		return
	}
	select {
	case f.changes <- change{i, Ref{f.gvk, f.namespace, name}, u, s}:
	case <-ctx.Done():
	}
}
