package trace

import (
	"cmp"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// marked is the delete that has marked the object, which still exists. It is a change of the
// object; to Why it is its deletion, too.
const marked What = "marked as deleted"

// noteDeletion notes the delete that marks an object, until something removes the object or
// brings it back.
func (n *Node) noteDeletion(last map[What]*Node, effect What, about observe.Object) {
	switch {
	case effect == Deleted && n.Verb != observe.VerbRestore:
		n.markedBy = last[marked]
		delete(last, marked)
	case effect == Deleted, effect == Created, n.Verb == observe.VerbRestore:
		delete(last, marked)
	case effect == Changed && n.marks(&about):
		last[marked] = cmp.Or(last[marked], n)
	}
}

// marks reports whether n has only marked an object as deleted, alone or with others.
func (n *Node) marks(o *observe.Object) bool {
	deleted, wrote := n.wroteTo(*o)
	return n.Marked && placeOf(n.Object) == placeOf(o) || n.Verb == "deletecollection" && wrote && !deleted
}

// decisive returns the delete that has marked the object, if n has removed it for that, and n
// otherwise.
func (n *Node) decisive() *Node {
	for p := n.parent; n.Gone && p != nil; p = p.parent {
		if p.marks(n.Object) {
			return p
		}
	}
	return cmp.Or(n.markedBy, n)
}

// deletion returns the node with which the chain of a deletion begins: the removal if its causes
// include the delete that has marked the object, otherwise that delete.
func deletion(last map[What]*Node) *Node {
	if by := last[marked]; by != nil {
		return by
	}
	removal := last[Deleted]
	if removal == nil || removal.markedBy == nil || removal.descendsFrom(map[*Node]bool{removal.markedBy: true}) {
		return removal
	}
	return removal.markedBy
}

// addDeletion adds what belongs to the deletion of the object and is not in the chain: what
// removed it, or the delete because of which it is going to be removed.
func (c *Chain) addDeletion(last map[What]*Node) {
	n := last[marked]
	c.held = n != nil && c.What == Deleted
	if c.What == Deleted && n == nil {
		n = last[Deleted]
	}
	if n != nil && !slices.Contains(c.Links, n) && !slices.Contains(c.Since, n) && (n == last[marked] || c.Links[0] == n.markedBy) {
		c.Since = append(c.Since, n)
	}
}
