package trace

import (
	"cmp"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// unansweredWrite is a write that a client waits for.
type unansweredWrite struct {
	*observe.UnansweredWrite
	client *observe.Client
}

// unansweredWrites returns the writes of an object without an answer.
func unansweredWrites(now observe.Snapshot, about observe.Object) (list []unansweredWrite) {
	for i := range now.Clients {
		c := &now.Clients[i]
		for n := range c.Unanswered {
			if w := &c.Unanswered[n]; w.Object.Same(about) {
				list = append(list, unansweredWrite{w, c})
			}
		}
	}
	return list
}

// IsAwaited reports whether a client waits for the answer to a write of an object. Nothing may be recorded of it yet.
// Of the writes that a client waits for a snapshot has the oldest ones.
func IsAwaited(now observe.Snapshot, about observe.Object) bool {
	return len(unansweredWrites(now, about)) > 0
}

// unansweredWritesFor returns the writes of an object without an answer, and those of objects whose first owner it is.
func unansweredWritesFor(now observe.Snapshot, records []observe.Record, about observe.Object) []unansweredWrite {
	list := unansweredWrites(now, about)
	for i := range now.Clients {
		c := &now.Clients[i]
		for n := range c.Unanswered {
			w := &c.Unanswered[n]
			owned := &Node{Object: &w.Object, owner: cmp.Or(w.Owner, lastOwner(records, w.Object))}
			if !w.Object.Same(about) && owned.isToBeOwnedBy(about) {
				list = append(list, unansweredWrite{w, c})
			}
		}
	}
	return list
}

// lastOwner returns the first owner with which a client has created an object last; nil if it had none, or that is not recorded.
func lastOwner(records []observe.Record, of observe.Object) *observe.Object {
	for i := range slices.Backward(records) {
		if c, ok := records[i].Event.(*observe.Called); ok && !c.Failed() && c.Object.Same(of) && observe.Creates(c.Verb, c.Subresource, c.Status) {
			return c.Owner
		}
	}
	return nil
}

// unanswered says which writes of an object, or of what it owns, clients wait for.
func (p *painter) unanswered(now observe.Snapshot, records []observe.Record, about observe.Object) (list []string) {
	for _, w := range unansweredWritesFor(now, records, about) {
		object := w.Object
		if object.Same(about) {
			object = about // with its kind
		}
		what := p.requestName(&Node{Kind: Call, Verb: w.Verb, Object: &object, Subresource: w.Subresource})
		s := words.OneLine(w.Controller) + " has been waiting" + p.since(w.Since, now.Time) + " for the answer to its request to " + what
		list = append(list, s+w.heldNote(now)+".")
	}
	return list
}

// heldNote says whether the write may wait because writes are held.
func (w *unansweredWrite) heldNote(now observe.Snapshot) string {
	for i := range now.Controllers {
		if c := &now.Controllers[i]; c.Name == w.Controller && heldNote(c) != "" {
			return heldNote(c)
		}
	}
	if w.client.State == observe.StatePaused && w.client.Held > 0 {
		return ": the client is paused and its writes are held"
	}
	return ""
}
