package clients

import (
	"slices"
	"sync"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// traits are the hashes of what relates an event to a write. They are kept beside the times of the events: a write looks at
// thousands, most of them are not related, and each text would have to be fetched from memory.
type traits struct {
	name, key, uid             recording.Mention
	owner, ownerName, ownerKey recording.Mention     // of its only owner
	named                      recording.MentionBits // what it names, if it has no owner
	hasOwner                   bool
	unsure                     bool // it has several owners, or a text that cannot be mentioned
}

func newTraits(s *sentEvent) (t traits) {
	var isKnown bool
	t.name, t.key, isKnown = s.mentioned.name.Mention, s.mentioned.key.Mention, s.mentioned.name.possible
	t.uid, _ = recording.MentionOf(s.uid)
	t.hasOwner, t.unsure = len(s.owners) > 0, !isKnown || len(s.owners) > 1
	if !t.hasOwner {
		t.named = s.names.Bits()
	} else {
		o := &s.owners[0]
		t.ownerName, t.ownerKey = o.mentioned.name.Mention, o.mentioned.key.Mention
		t.owner, isKnown = recording.MentionOf(o.uid)
		t.unsure = t.unsure || !isKnown
	}
	return t
}

// relatives tell which events may be related to a write.
type relatives struct {
	*write
	uid       recording.Mention   // of the written object
	namespace recording.Mention   // the name
	owners    []recording.Mention // the UIDs
}

func (w *write) newRelatives() relatives {
	r := relatives{write: w}
	r.uid, _ = recording.MentionOf(w.object.UID)
	r.namespace, _ = recording.MentionOf(w.object.Namespace)
	for _, o := range w.owners {
		if uid, ok := recording.MentionOf(o.UID); ok {
			r.owners = append(r.owners, uid)
		}
	}
	return r
}

// mayInclude reports whether an event may be related. It is true for all for which isRelatedTo is, and for few others.
func (r *relatives) mayInclude(e *slot) bool {
	t := &e.traits
	if t.unsure || t.name == r.mentioned.name.Mention || r.names.Has(t.name) || r.names.Has(t.key) || slices.Contains(r.owners, t.uid) {
		return true
	}
	if !t.hasOwner {
		return t.named.MayHave(r.mentioned.name.Mention) || t.named.MayHave(r.mentioned.key.Mention)
	}
	return t.owner == r.uid || slices.Contains(r.owners, t.owner) || r.names.Has(t.ownerName) || r.names.Has(t.ownerKey)
}

// eventIndexes are the indexes of some of the events of a write.
type eventIndexes []int

// of returns the events.
func (x eventIndexes) of(events []*event) (list []*event) {
	for _, i := range x {
		list = append(list, events[i])
	}
	return list
}

// eventBuffers are slices that writes have used for the events of their clients, which may be thousands.
var eventBuffers = sync.Pool{New: func() any { return new([]*event) }}

// takeEventBuffer takes a slice for the events of a write, until free is called.
func (w *write) takeEventBuffer() (free func()) {
	buffer := eventBuffers.Get().(*[]*event)
	w.events = (*buffer)[:0]
	return func() {
		clear(w.events)
		*buffer, w.events = w.events[:0], nil
		eventBuffers.Put(buffer)
	}
}

// isRelatedTo reports whether the event's object is o, or owns it, or is owned by it or
// by one of the owners of o.
func (e *event) isRelatedTo(o observe.Object, owners []recording.OwnerReference) bool {
	return e.isOf(o) || isOwner(owners, e.uid) || e.isOwnedBy(o.UID) ||
		slices.ContainsFunc(owners, func(r recording.OwnerReference) bool { return e.isOwnedBy(r.UID) })
}

func isOwner(of []recording.OwnerReference, uid string) bool {
	return uid != "" && slices.ContainsFunc(of, func(r recording.OwnerReference) bool { return r.UID == uid })
}
