package trace

import (
	"cmp"

	"github.com/ctrlplane/ctrlplane/observe"
)

// completeTransitions completes the events of clients, which are sent without the version before:
// what an object has become with a version is in the events of the controllers that received it.
func (g *graph) completeTransitions() {
	type version struct {
		place
		number string
	}
	of := func(e *Node) version { return version{placeOf(e.Object), e.ResourceVersion} }
	became := map[version]observe.Transition{}
	for _, e := range g.events {
		if e.Became != "" {
			became[of(e)] = e.Became
		}
	}
	if len(became) == 0 {
		return
	}
	for _, e := range g.events {
		if e.Change == observe.Updated && !e.deleting {
			e.Became = cmp.Or(e.Became, became[of(e)])
		}
	}
}
