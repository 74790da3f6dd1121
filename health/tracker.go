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
	// state is set if it cannot be computed from the object.
	state State
}

func newTracker(refs []Ref, o Options) *tracker {
	b := &tracker{Options: o}
	known := map[Ref]bool{}
	for _, r := range refs {
		if !known[r] {
			known[r] = true
			b.objects = append(b.objects, trackedObject{State: State{Ref: r, Status: Unknown, Message: "the server has not answered"}})
		}
	}
	return b
}

// newWatchers returns a watcher for each kind and namespace.
func (b *tracker) newWatchers(w *Waiter, changes chan<- objectUpdate) []*objectWatcher {
	type place struct {
		schema.GroupVersionKind
		namespace string
	}
	var all []*objectWatcher
	known := map[place]*objectWatcher{}
	for i, e := range b.objects {
		p := place{e.Ref.GroupVersionKind, e.Ref.Namespace}
		f := known[p]
		if f == nil {
			f = &objectWatcher{Waiter: w, gvk: p.GroupVersionKind, namespace: p.namespace, entries: map[string]int{}, gone: b.Gone, changes: changes}
			known[p] = f
			all = append(all, f)
		}
		f.entries[e.Ref.Name] = i
	}
	return all
}

// applyUpdate stores an update, and reports it if the state has changed.
func (b *tracker) applyUpdate(c objectUpdate) {
	e := &b.objects[c.entry]
	s := c.state
	if c.object == nil && s.Status == "" && !b.Gone {
		c.object = lastVersion(c.last, e.object)
		c.isLast = c.object != nil
	}
	switch {
	case c.object != nil:
		s = StateOf(c.object)
		if !b.Gone {
			s.addMissingStatus(c.object, c.status)
		}
	case s.Status == "":
		s.Status, s.Message = NotFound, "does not exist"
	}
	s.Ref = c.ref
	if c.object != nil || s.Status != Unknown { // otherwise the last object seen is the best information
		e.object, e.isLast = c.object, c.isLast
	}
	if e.seen && e.State == s {
		return
	}
	e.State, e.seen = s, true
	if b.Progress != nil {
		b.Progress(s)
	}
}

func (b *tracker) isSatisfied(e *trackedObject) bool {
	if b.Gone {
		return e.Status == NotFound
	}
	return e.Status == Current
}

func (b *tracker) allSatisfied() bool {
	return !slices.ContainsFunc(b.objects, func(e trackedObject) bool { return !b.isSatisfied(&e) })
}

func (b *tracker) allSeen() bool {
	return !slices.ContainsFunc(b.objects, func(e trackedObject) bool { return !e.seen })
}

// isHopeless reports whether waiting longer cannot succeed.
func (b *tracker) isHopeless() bool {
	return slices.ContainsFunc(b.objects, func(e trackedObject) bool { return e.Final && (!b.Gone || e.Status == Unknown) })
}
