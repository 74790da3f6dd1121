package trace

import "strconv"

// noteConflicts notes for each write that was refused because its object had been modified which
// write had done that: the last one that was stored before.
func (g *graph) noteConflicts() {
	stored := map[place][]*Node{}
	for _, c := range g.calls {
		for _, w := range c.wrote {
			p := placeOfWritten(w)
			stored[p] = append(stored[p], c)
		}
	}
	for _, n := range g.calls {
		if !n.Conflict {
			continue
		}
		for _, c := range stored[placeOf(n.Object)] {
			if c.End().Before(n.End()) && (n.modifiedBy == nil || c.storedVersion(*n.Object) > n.modifiedBy.storedVersion(*n.Object)) {
				n.modifiedBy = c
			}
		}
	}
}

// modification says who had modified what a write that had a conflict is about, if that is known; what
// is empty, or names it.
func (p phrases) modification(n *Node, what string) string {
	by := n.modifiedBy
	if by == nil {
		return ""
	}
	s := p.actor(by) + " had modified"
	if by.Controller == n.Controller {
		s = "it had itself modified"
	}
	return s + what + " to version " + strconv.FormatUint(by.storedVersion(*n.Object), 10)
}
