package trace

import (
	"slices"
	"strconv"

	"github.com/ctrlplane/ctrlplane/observe"
)

// noteConflicts notes for each write that was refused because its object had been modified which
// write had done that: the last one that was stored before.
func (g *graph) noteConflicts() {
	type storedBy struct {
		call    *Node
		version uint64
	}
	last := map[place]storedBy{}
	for _, n := range slices.SortedFunc(slices.Values(g.calls), compareEnd) {
		if n.Conflict && !n.refusedByRestore() {
			n.modifiedBy = last[placeOf(n.Object)].call
		}
		for _, w := range n.wrote {
			p, version := placeOfWritten(w), versionNumber(w)
			if before, known := last[p]; !known || version > before.version {
				last[p] = storedBy{n, version}
			}
		}
	}
}

// restoredReason is why a restore refuses a write: it may not have changed the write's object.
const restoredReason = "the control plane was restored while the write waited"

// refusedByRestore reports whether a restore has refused a write that waited.
func (n *Node) refusedByRestore() bool {
	return n.Conflict && observe.SaysRestored(n.Error)
}

// conflictingChange says what had happened to the object of a write that had a conflict.
func (n *Node) conflictingChange() string {
	if observe.SaysDeleted(n.Error) {
		return "deleted"
	}
	return "modified"
}

// modification says who had modified or deleted what a write that had a conflict is about, if that is known;
// what is empty, or names it.
func (p phrases) modification(n *Node, what string) string {
	by := n.modifiedBy
	if by == nil {
		return ""
	}
	s := p.actor(by) + " had "
	if by.Controller == n.Controller {
		s = "it had itself "
	}
	if deleted, _ := by.wroteTo(*n.Object); deleted {
		return s + "deleted" + what
	} else if observe.SaysDeleted(n.Error) { // by a later write, which is not recorded
		return ""
	}
	return s + "modified" + what + " to version " + strconv.FormatUint(by.storedVersion(*n.Object), 10)
}
