package trace

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// marks reports whether n has only marked an object as deleted, alone or with others.
func (n *Node) marks(o *observe.Object) bool {
	deleted, wrote := n.wroteTo(*o)
	return n.Marked && placeOf(n.Object) == placeOf(o) || n.Verb == "deletecollection" && wrote && !deleted
}

// linkRemovals links the removals of objects by those that react to events to the deletes that have marked the objects, if nothing
// that began since then is known to be the reason: without its mark, an object stays when its last finalizer is removed.
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
				if mark != nil && c.Verb != "delete" && c.Verb != "deletecollection" {
					if n := g.unrelatedTo(mark, c); n != nil && !mark.descendsFrom(map[*Node]bool{n: true}) {
						n.setCause(mark, Likely, ByDeletion)
					}
				}
			case mark == nil && (c.Marked && at == placeOf(c.Object) || c.Verb == "deletecollection"):
				marked[at] = c
			}
		}
	}
}

// unrelatedTo returns the node that follows from the delete that has marked the object which n has removed, although the records say
// otherwise or nothing; nil if n follows from it already, or from what has begun since. A program that was down, or a standby, while
// the object was deleted finds that when it starts, or begins to lead, whatever has queued the key.
func (g *graph) unrelatedTo(mark, n *Node) *Node {
	switch {
	case n.causedBy == nil && n.unexplained != nil:
		return n
	case n.causedBy == nil || n.descendsFrom(map[*Node]bool{mark: true}):
		return nil
	}
	for at := n; at.causedBy != nil; at = at.causedBy {
		switch p := at.causedBy; {
		case p.Kind == Event && p.Change == observe.Listed:
			if at.Kind == Sync && at.Key == n.Object.Key() {
				return at
			}
			return n
		case p.isWrite() && p.Controller != n.Controller:
			first := p.first()
			if !n.isLikely() || first.Time.After(mark.Time) && (first.isByUser() || !g.hasTakenOver(n.Controller, p.Time, n.Time)) {
				return nil
			}
			return n
		}
	}
	return nil
}

// hasTakenOver reports whether a client has taken a Lease from another holder between two times: it was a standby.
func (g *graph) hasTakenOver(client string, from, to time.Time) bool {
	return slices.ContainsFunc(g.takenOver, func(c *observe.Called) bool {
		return c.Controller == client && c.Began.After(from) && c.Began.Before(to)
	})
}

// first returns the first known cause of n.
func (n *Node) first() *Node {
	for n.causedBy != nil {
		n = n.causedBy
	}
	return n
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
