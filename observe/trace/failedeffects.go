package trace

import (
	"fmt"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// failedEffects says which writes clients try because of an object and cannot make, one sentence each: those that
// have failed since the last time that they succeeded. Of a client that reports its syncs, the keys that fail are known
// instead, and a conflict is not a failure.
func (g *graph) failedEffects(about observe.Object) (list []string) {
	mine := map[*Node]bool{}
	for _, n := range g.nodes {
		if n.Object != nil && n.isAbout(about) {
			mine[n] = true
		}
	}
	type attempts struct {
		last  *Node
		count int
	}
	failing := map[subject]*attempts{}
	var order []subject
	for _, n := range g.nodes {
		k, ok := n.subject()
		if !ok || n.Kind != Call {
			continue
		}
		switch {
		case !n.failed() || n.isStored():
			delete(failing, k)
		case n.Conflict || n.parent == nil || n.parent.Kind != Event || n.isAbout(about) || !n.descendsFrom(mine):
		case failing[k] == nil:
			failing[k] = &attempts{n, 1}
			order = append(order, k)
		default:
			failing[k].last = n
			failing[k].count++
		}
	}
	p := phrases{home: about.Namespace}
	for _, k := range slices.Compact(order) {
		a := failing[k]
		if a == nil {
			continue
		}
		delete(failing, k)
		times := "once"
		if a.count > 1 {
			times = fmt.Sprintf("%d times in a row", a.count)
		}
		list = append(list, p.sentence(fmt.Sprintf("%s fails to %s, %s: %s", p.actor(a.last), p.requestName(a.last), times, p.reason(a.last))))
	}
	return list
}
