package trace

import (
	"cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// lastWrites are the last writes of an object, in the order in which they were stored.
type lastWrites struct {
	of map[What]*Node // the last one of each kind that may be asked for

	// These make others obsolete.
	restored *Node // by a restore
	byClient *Node // other than of the status

	marked        *Node // the delete that has marked the object, which still exists; to Why it is its deletion, too
	missingStatus *Node // a write of the status, refused because the definition has no such subresource, as far as is known also now
}

// newLastWrites returns the last ones of nodes about an object.
func newLastWrites(mine []*Node, about observe.Object) *lastWrites {
	last := &lastWrites{of: map[What]*Node{}}
	for _, n := range mine {
		if effect := n.writeEffect(about); effect != "" {
			last.of[effect] = n
			last.noteObsoleting(n, effect)
			last.noteDeletion(n, effect, about)
			last.noteMissingStatus(n, effect)
		}
	}
	return last
}

// noteObsoleting notes a write with an effect if it makes others obsolete.
func (l *lastWrites) noteObsoleting(n *Node, effect What) {
	if effect != Created && effect != Changed {
		return
	}
	if effect == Created && l.of[Deleted] != nil {
		delete(l.of, Changed) // of an earlier object with this name
	}
	if n.Verb == observe.VerbRestore {
		l.restored = n
	}
	if n.byClient && n.Subresource != "status" {
		l.byClient = n
	}
}

// noteDeletion notes the delete that marks the object, until something removes the object or
// brings it back.
func (l *lastWrites) noteDeletion(n *Node, effect What, about observe.Object) {
	switch {
	case effect == Deleted && n.Verb != observe.VerbRestore:
		n.markedBy, l.marked = l.marked, nil
	case effect == Deleted, effect == Created, n.Verb == observe.VerbRestore:
		l.marked = nil
	case effect == Changed && n.marks(&about):
		l.marked = cmp.Or(l.marked, n)
	}
}

// noteMissingStatus notes a write of the status that was refused for this reason, until an object is created: what was
// before is of an earlier one with its name.
func (l *lastWrites) noteMissingStatus(n *Node, effect What) {
	switch {
	case effect == Created:
		l.missingStatus = nil
	case n.noStatus && !n.statusSince:
		l.missingStatus = n
	}
}

// firstRecorded returns the change that is explained if none is asked for.
func (l *lastWrites) firstRecorded() What {
	for _, w := range []What{Created, Changed, Deleted, Refused, Failed} {
		if l.of[w] != nil {
			return w
		}
	}
	return Changed
}
