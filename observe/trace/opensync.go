package trace

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// toExplain returns the node with which the chain of a change begins, or nil. nodes are in
// chronological order.
func toExplain(nodes []*Node, last map[What]*Node, what What, about observe.Object) *Node {
	switch n := last[what]; {
	case what == Deleted:
		return deletion(last)
	case what == Changed && n != nil && n.isOfOpenSync():
		return n.lastExplained(nodes, about)
	default:
		return n
	}
}

// isOfOpenSync reports whether the cause of n is not known because its sync has no recorded end.
func (n *Node) isOfOpenSync() bool { return n.parent != nil && n.parent.Open && n.parent.parent == nil }

// lastExplained returns the last change of the object before n that the same controller has made
// and whose cause is known, and n without one.
func (n *Node) lastExplained(nodes []*Node, about observe.Object) *Node {
	for _, e := range slices.Backward(nodes[:slices.Index(nodes, n)]) {
		if e.Object == nil || e.Controller != n.Controller || e.parent == nil || e.parent.parent == nil {
			continue
		}
		if e.isAbout(about) && e.writeEffect(about) == Changed {
			return e
		}
	}
	return n
}

// addNewest adds the newest change of the object if the one before it is explained instead.
func (c *Chain) addNewest(last map[What]*Node) {
	if n := last[Changed]; c.What == Changed && n != c.Links[0] && !slices.Contains(c.Since, n) {
		c.Since = append(c.Since, n)
	}
}
