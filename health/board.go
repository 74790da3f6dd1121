package health

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// board is where it stands how each object is by now.
type board struct {
	Options
	entries []entry
}

// entry is an object that is waited for.
type entry struct {
	State
	seen   bool
	object *unstructured.Unstructured // as it was seen last; nil if it is not there
}

// change is news about an entry.
type change struct {
	entry  int
	ref    Ref                        // with the namespace put right
	object *unstructured.Unstructured // nil if there is none
	// state is given where it does not come from the object.
	state State
}

func newBoard(refs []Ref, o Options) *board {
	b := &board{Options: o}
	known := map[Ref]bool{}
	for _, r := range refs {
		if !known[r] {
			known[r] = true
			b.entries = append(b.entries, entry{State: State{Ref: r, Status: Unknown, Message: "the server has not answered"}})
		}
	}
	return b
}

// followers returns one for each kind and namespace.
func (b *board) followers(w *Waiter, changes chan<- change) []*follower {
	type place struct {
		schema.GroupVersionKind
		namespace string
	}
	var all []*follower
	known := map[place]*follower{}
	for i, e := range b.entries {
		p := place{e.Ref.GroupVersionKind, e.Ref.Namespace}
		f := known[p]
		if f == nil {
			f = &follower{Waiter: w, gvk: p.GroupVersionKind, namespace: p.namespace, entries: map[string]int{}, changes: changes}
			known[p] = f
			all = append(all, f)
		}
		f.entries[e.Ref.Name] = i
	}
	return all
}

// apply takes news, and passes them on if they are any.
func (b *board) apply(c change) {
	e := &b.entries[c.entry]
	s := c.state
	switch {
	case c.object != nil:
		s = Of(c.object)
	case s.Status == "":
		s.Status, s.Message = NotFound, "there is no such object"
	}
	s.Ref = c.ref
	if s.Status != Unknown { // else nothing is known of it but what was
		e.object = c.object
	}
	if e.seen && e.State == s {
		return
	}
	e.State, e.seen = s, true
	if b.Progress != nil {
		b.Progress(s)
	}
}

func (b *board) satisfied(e *entry) bool {
	if b.Gone {
		return e.Status == NotFound
	}
	return e.Status == Current
}

func (b *board) done() bool {
	return !slices.ContainsFunc(b.entries, func(e entry) bool { return !b.satisfied(&e) })
}

// hopeless tells whether it is known that waiting cannot help.
func (b *board) hopeless() bool {
	return slices.ContainsFunc(b.entries, func(e entry) bool { return e.Final && (!b.Gone || e.Status == Unknown) })
}
