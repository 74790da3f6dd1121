package trace

import (
	"net/http"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// absentOwner is an owner because of whose absence the garbage collector has deleted an object: it deletes one if none
// of its owners exists. It looks up an owner that it does not know in a sync of the owner's key, from whose result
// follows the sync of the object, or else in that sync itself.
type absentOwner struct {
	object  *observe.Object // with its name at least
	missing bool            // no such object existed; otherwise, none with the UID of the owner reference
	// elsewhere is the object with that UID if it exists in another namespace, in which it cannot be the owner; else nil.
	elsewhere *observe.Object
}

// noteAbsentOwners notes which deletes of the garbage collector were made because an owner did not exist.
func (g *graph) noteAbsentOwners(missed uint64) {
	notFound := map[*Node][]*observe.Object{} // what was not found in a sync
	for _, c := range g.calls {
		if c.Controller == controllernames.GarbageCollector && c.Verb == "get" && c.Status == http.StatusNotFound && c.causedBy != nil {
			notFound[c.causedBy] = append(notFound[c.causedBy], c.Object)
		}
	}
	for _, c := range g.calls {
		if c.Controller != controllernames.GarbageCollector || c.Verb != "delete" || c.causedBy == nil {
			continue
		}
		owner := c.causedBy.lookup()
		if owner != nil {
			c.absentOwner = &absentOwner{object: g.objectOfKey(owner.Key, missed)}
		}
		for _, o := range slices.Concat(notFound[owner], notFound[c.causedBy]) {
			if placeOf(o) != placeOf(c.Object) {
				c.absentOwner = &absentOwner{object: o, missing: true, elsewhere: c.ownerElsewhere(o)}
			}
		}
	}
}

// lookup returns the sync of an owner's key in which the garbage collector has found that the owner does not
// exist, if the sync n of a dependent's key follows from that, and nil otherwise.
func (n *Node) lookup() *Node {
	isFromSync := func(n *Node) bool {
		return n.Kind == Sync && n.causedBy != nil && n.causedBy.Kind == Sync && n.Cause.Rule == BySync && n.Cause.Certainty == Certain
	}
	if !isFromSync(n) || !isFromSync(n.causedBy) || n.Queue != controllernames.GarbageCollectorQueue {
		return nil
	}
	if by := n.causedBy.causedBy; by.Queue == controllernames.GarbageCollectorQueue && by.KeyBasis.Certain() && by.Key != "" {
		return by
	}
	return nil
}

// otherNamespace is what the garbage collector logs of an owner reference with the UID of an object in another namespace.
const otherNamespace = "item references an owner but does not match namespaces"

// ownerElsewhere returns the object with the UID of the owner reference that led to a delete, if it has the name of the owner and
// is in another namespace; else nil.
func (n *Node) ownerElsewhere(owner *observe.Object) *observe.Object {
	for s := n.causedBy; s != nil && s.Kind == Sync; s = s.causedBy {
		for _, found := range s.foreignOwners {
			key := found[strings.LastIndexByte(found, ' ')+1:]
			if namespace, name, _ := strings.Cut(key, "/"); name == owner.Name {
				o := *owner
				o.Namespace = namespace
				return &o
			}
		}
	}
	return nil
}

// objectOfKey returns the object that a key of the garbage collector stands for: with its kind if all recorded
// objects of that name are of one, and no records were dropped.
func (g *graph) objectOfKey(key string, missed uint64) *observe.Object {
	namespace, name, namespaced := strings.Cut(key, "/")
	if !namespaced {
		namespace, name = "", key
	}
	var found *observe.Object
	for _, e := range g.events {
		o := e.Object
		if o.Name != name || o.Namespace != "" && o.Namespace != namespace || found != nil && placeOf(found) == placeOf(o) {
			continue
		}
		if found != nil || missed > 0 {
			return &observe.Object{Namespace: namespace, Name: name}
		}
		found = o
	}
	if found != nil {
		return found
	}
	return &observe.Object{Namespace: namespace, Name: name}
}

// describeAbsentOwner says in a part of a sentence which owner did not exist.
func (p phrases) describeAbsentOwner(a *absentOwner) string {
	s := "its owner " + strings.TrimSpace(p.objectName(a.object)) + " did not exist"
	switch {
	case a.elsewhere != nil:
		s += " in its namespace: " + p.objectName(a.elsewhere) + " has the UID of its owner reference"
	case !a.missing:
		s += " with the UID of its owner reference"
	}
	return s
}
