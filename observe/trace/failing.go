package trace

import (
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// FailingKey is a key that fails for a controller.
type FailingKey struct {
	Controller *observe.Controller
	observe.FailingKey
}

// maxFailing is after how many failing keys no further object is looked at.
const maxFailing = 3

// FailingKeys returns the keys that stand for an object, or for one that its controllers have created for it, and whose
// last sync failed; for a Node, also that of its Lease. It leaves out keys that may stand for an object of another kind, and those that are only the object of
// an event, unless the queue has the name of its kind.
func FailingKeys(now observe.Snapshot, records []observe.Record, about observe.Object) (list []FailingKey) {
	for _, o := range neededBy(records, about) {
		if len(list) >= maxFailing {
			break
		}
		list = append(list, failingKeysOf(now, records, o)...)
	}
	return list
}

// neededBy returns an object and those whose failures are its own: what its controllers have created for it and, of a
// Node, which is not Ready while it is not renewed, its Lease.
func neededBy(records []observe.Record, about observe.Object) []observe.Object {
	objects := createdFor(records, about)
	if about.GroupResource() == "nodes" {
		objects = append(objects, observe.Object{Group: "coordination.k8s.io", Resource: "leases", Kind: "Lease", Namespace: "kube-node-lease", Name: about.Name})
	}
	return objects
}

func failingKeysOf(now observe.Snapshot, records []observe.Record, about observe.Object) (list []FailingKey) {
	for i := range now.Controllers {
		c := &now.Controllers[i]
		for _, f := range c.Failing {
			if f.Key == about.Key() && (f.KeyBasis != observe.BasisEvent || isNamedAfter(c.Name, f.Queue, about)) && keysStandFor(records, c.Name, f, about) {
				list = append(list, FailingKey{c, f})
			}
		}
	}
	return list
}

// keysStandFor reports whether a key is that of the object: events of no other object have queued
// it, or the controller or its queue has the name of the object's kind. A controller may receive
// events of objects that it has created with the name of their owner.
func keysStandFor(records []observe.Record, controller string, f observe.FailingKey, about observe.Object) bool {
	found := keyObjects(records, controller, f.Queue, f.Key)
	if len(found) == 1 {
		return found[0].Same(about)
	}
	return isNamedAfter(controller, f.Queue, about)
}

// IsOf reports whether a failing key of an operator's controller is that of an object of a kind rather than of another kind, whose
// object may have the same name.
func (f FailingKey) IsOf(o observe.Object) bool {
	return f.Key == o.Key() && isNamedAfter(f.Controller.Name, f.Queue, o)
}

// isNamedAfter reports whether a controller of an operator, or its queue, has the name of an object's kind, or the queue
// that of its resource.
func isNamedAfter(controller, queue string, o observe.Object) bool {
	_, name, _ := observe.SplitReported(controller)
	return o.Kind != "" && (strings.EqualFold(name, o.Kind) || strings.EqualFold(queue, o.Kind) || queue != "" && queue == o.Resource)
}

// Sentence says that the key fails, how often and why, and when the next attempt is, if that is known.
func (f FailingKey) Sentence(now time.Time) string {
	s := f.Controller.Name
	if f.KeyBasis.Inferred() {
		s += " likely"
	}
	if f.Controller.State == observe.StateOff {
		s += " failed for " + f.Key + " before it was stopped"
	} else {
		s += " fails for " + f.Key
	}
	s += ", " + f.HowOften()
	if next := f.NextAttempt(now); next != "" && f.Controller.State != observe.StateOff {
		s += ", " + next
	}
	if f.Error != "" {
		s += ": " + strings.TrimSuffix(f.Error, ".")
	}
	return words.OneLine(s) + "."
}
