package trace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Find returns the object with a kind, namespace and name from the records. It serves
// kinds that the server no longer knows. kind is RESOURCE, KIND, RESOURCE.GROUP or KIND.GROUP in
// any case; with an empty group after the point it is of the core group.
func Find(records []observe.Record, kind, namespace, name string) (observe.Object, bool) {
	for i := len(records) - 1; i >= 0; i-- {
		var o observe.Object
		switch e := records[i].Event.(type) {
		case *observe.Called:
			o = e.Object
		case *observe.Delivered:
			o = e.Object
		default:
			continue
		}
		if o.Name == name && (o.Namespace == "" || o.Namespace == namespace) && matchesKind(o, kind) {
			o.UID = ""
			return o, true
		}
	}
	return observe.Object{}, false
}

// FindKey returns the object that a key of a controller's queue stands for: the one with that
// namespace and name whose events have queued a key there or else in another of its queues.
func FindKey(records []observe.Record, controller, queue, key string) (observe.Object, error) {
	found := keyObjects(records, controller, queue, key)
	switch len(found) {
	case 0:
		return observe.Object{}, fmt.Errorf("the object of the key %s of %s is not known: no recorded event of it has queued a key", key, controller)
	case 1:
		return found[0], nil
	}
	p := phrases{ambiguous: ambiguousKinds([]*observe.Object{&found[0], &found[1]})}
	return observe.Object{}, fmt.Errorf("the key %s of %s may stand for %s or %s: select one of them", key, controller, p.fullName(found[0]), p.fullName(found[1]))
}

// keyObjects returns the objects that a key of a controller's queue may stand for.
func keyObjects(records []observe.Record, controller, queue, key string) []observe.Object {
	if controller == controllernames.GarbageCollector && queue == controllernames.GarbageCollectorQueue {
		return collectedObjects(records, key)
	}
	var here, elsewhere []observe.Object
	for i := range records {
		d, ok := records[i].Event.(*observe.Delivered)
		if !ok || d.Controller != controller || len(d.Queues)+len(d.Later) == 0 {
			continue
		}
		o := d.Object
		o.UID = ""
		list := &elsewhere
		if queuedIn(d, queue) {
			list = &here
		}
		if o.Key() == key && !slices.ContainsFunc(*list, o.Same) {
			*list = append(*list, o)
		}
	}
	if len(here) == 0 {
		return elsewhere
	}
	return here
}

// queuedIn reports whether the handler of an event has added a key to a queue, now or later.
func queuedIn(d *observe.Delivered, queue string) bool {
	return slices.Contains(d.Queues, queue) || slices.ContainsFunc(d.Later, func(k observe.DelayedKey) bool { return k.Queue == queue })
}

// matchesKind reports whether kind is a name of the object's kind.
func matchesKind(o observe.Object, kind string) bool {
	for _, known := range []string{o.Resource, o.Kind, o.Resource + "." + o.Group, o.Kind + "." + o.Group} {
		if known != "" && strings.EqualFold(known, kind) {
			return true
		}
	}
	return false
}
