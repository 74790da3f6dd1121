package trace

import (
	"cmp"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// marks reports whether n has only marked an object as deleted, alone or with others.
func (n *Node) marks(o *observe.Object) bool {
	deleted, wrote := n.wroteTo(*o)
	return n.Marked && placeOf(n.Object) == placeOf(o) || n.Verb == "deletecollection" && wrote && !deleted
}

// linkRemovals links the removals of objects by clients that react to events, and of which no cause is known, to the deletes that
// have marked the objects: without its mark, an object stays when its last finalizer is removed.
func (g *graph) linkRemovals() {
	marked := map[place]*Node{}
	for _, c := range slices.SortedFunc(slices.Values(g.calls), compareEnd) {
		for _, w := range c.wrote {
			at := placeOfWritten(w)
			mark := marked[at]
			switch {
			case c.creates(), c.Verb == observe.VerbRestore:
				delete(marked, at)
			case w.Deleted:
				delete(marked, at)
				if mark != nil && c.unexplained != nil && c.causedBy == nil && c.Verb != "delete" && c.Verb != "deletecollection" {
					c.setCause(mark, Likely, ByDeletion)
				}
			case mark == nil && (c.Marked && at == placeOf(c.Object) || c.Verb == "deletecollection"):
				marked[at] = c
			}
		}
	}
}

// decisive returns the delete that has marked the object, if n has removed it for that, and n
// otherwise.
func (n *Node) decisive() *Node {
	for p := n.causedBy; n.Gone && p != nil; p = p.causedBy {
		if p.marks(n.Object) {
			return p
		}
	}
	return cmp.Or(n.markedBy, n)
}

// deletion returns the node with which the chain of a deletion begins: the removal if its causes
// include the delete that has marked the object, otherwise that delete.
func deletion(last *lastWrites) *Node {
	if by := last.marked; by != nil {
		return by
	}
	removal := last.of[Deleted]
	if removal.isApart() {
		return removal.markedBy
	}
	return removal
}

// isApart reports whether n has removed an object for another cause than the delete that has marked it.
func (n *Node) isApart() bool {
	return n != nil && n.markedBy != nil && !n.descendsFrom(map[*Node]bool{n.markedBy: true})
}

// addDeletion adds what belongs to the deletion of the object and is not in the chain: what
// removed it, or the delete because of which it is going to be removed.
func (c *Chain) addDeletion(last *lastWrites) {
	n := last.marked
	c.held = n != nil && c.What == Deleted
	if n == nil && (c.What == Deleted || c.isRemovedSince(last)) {
		n = last.of[Deleted]
	}
	if n != nil && !slices.Contains(c.Links, n) && !slices.Contains(c.Since, n) && (n == last.marked || n.isApart()) {
		c.Since = append(c.Since, n)
	}
}

// isRemovedSince reports whether the object was removed after the explained change, and does not exist again.
func (c *Chain) isRemovedSince(last *lastWrites) bool {
	n := last.of[Deleted]
	if n == nil || !n.Time.After(c.Links[0].Time) {
		return false
	}
	isBefore := func(by *Node) bool { return by == nil || compareTime(by, n) < 0 }
	return isBefore(last.of[Created]) && isBefore(last.restored)
}

// isRemovedApart reports whether Since also has the write that removed the object, which n has marked.
func (c *Chain) isRemovedApart(n *Node) bool {
	return slices.ContainsFunc(c.Since, func(by *Node) bool { return by.markedBy == n })
}
