package health

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// tracker keeps the states of the objects to wait for.
type tracker struct {
	Options
	objects []trackedObject
}

// trackedObject is an object to wait for.
type trackedObject struct {
	State
	seen   bool
	object *unstructured.Unstructured // as last seen; nil if it does not exist
	isLast bool                       // object is the last version of one that does not exist
}

// objectUpdate is a change of a tracked object.
type objectUpdate struct {
	entry  int
	ref    Ref                        // with the actual namespace
	object *unstructured.Unstructured // nil if it does not exist
	isLast bool                       // object is the last version of one that does not exist
	last   *unstructured.Unstructured // of an object that does not exist; nil if it is not known
	status string                     // see resource.statusResource
	// resource is as RESOURCE.GROUP; empty if it is not known.
	resource string
	// state is set if it cannot be computed from the object.
	state State
}

func newTracker(refs []Ref, o Options) *tracker {
	t := &tracker{Options: o}
	known := map[Ref]bool{}
	for _, r := range refs {
		if !known[r] {
			known[r] = true
			t.objects = append(t.objects, trackedObject{State: State{Ref: r, Status: Unknown, Message: "the server has not answered"}})
		}
	}
	return t
}

// newWatchers returns a watcher for each kind and namespace.
func (t *tracker) newWatchers(w *Waiter, changes chan<- objectUpdate) []*objectWatcher {
	type place struct {
		schema.GroupVersionKind
		namespace string
	}
	var all []*objectWatcher
	known := map[place]*objectWatcher{}
	for i, e := range t.objects {
		p := place{e.Ref.GroupVersionKind, e.Ref.Namespace}
		watcher := known[p]
		if watcher == nil {
			watcher = &objectWatcher{Waiter: w, gvk: p.GroupVersionKind, namespace: p.namespace, entries: map[string]int{}, gone: t.Gone, changes: changes}
			known[p] = watcher
			all = append(all, watcher)
		}
		watcher.entries[e.Ref.Name] = i
	}
	return all
}

// applyUpdate stores an update, and reports it if the state has changed.
func (t *tracker) applyUpdate(c objectUpdate) {
	e := &t.objects[c.entry]
	s := c.state
	if c.object == nil && s.Status == "" && !t.Gone {
		c.object = lastVersion(c.last, e.object)
		c.isLast = c.object != nil
	}
	switch {
	case c.object != nil:
		s = StateOf(c.object)
		if !t.Gone {
			s.addMissingStatus(c.object, c.status)
		}
	case s.Status == "":
		s.Status, s.Message = NotFound, "does not exist"
	}
	s.Ref, s.Resource = c.ref, c.resource
	if c.object != nil || s.Status != Unknown { // otherwise the last object seen is the best information
		e.object, e.isLast = c.object, c.isLast
	}
	if e.seen && e.State == s {
		return
	}
	e.State, e.seen = s, true
	if t.Progress != nil {
		t.Progress(s)
	}
}

func (t *tracker) isSatisfied(e *trackedObject) bool {
	if t.Gone {
		return e.Status == NotFound
	}
	return e.Status == Current
}

func (t *tracker) allSatisfied() bool {
	return !slices.ContainsFunc(t.objects, func(e trackedObject) bool { return !t.isSatisfied(&e) })
}

func (t *tracker) allSeen() bool {
	return !slices.ContainsFunc(t.objects, func(e trackedObject) bool { return !e.seen })
}

// isHopeless reports whether waiting longer cannot succeed.
func (t *tracker) isHopeless() bool {
	return slices.ContainsFunc(t.objects, func(e trackedObject) bool { return e.Final && (!t.Gone || e.Status == Unknown) })
}
