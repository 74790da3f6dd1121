package trace

import "github.com/ctrlplane/ctrlplane/observe"

// noteNoEffect notes the writes that changed nothing: the API server answers them with the
// version that is stored.
func (g *graph) noteNoEffect() {
	stored := map[objectVersion]bool{}
	for _, c := range g.calls {
		if !c.isWrite() || c.failed() || c.Gone || c.ResourceVersion == "" || c.Verb == observe.VerbRestore {
			continue
		}
		version := objectVersion{placeOf(c.Object), c.ResourceVersion}
		switch {
		case len(c.wrote) > 0, c.creates():
		case g.writesReported:
			c.noEffect = true
		case c.Verb == "delete": // it may be answered with the last version, and so may the removal of the last finalizer
			continue
		default:
			c.noEffect = stored[version]
		}
		stored[version] = true
	}
}

// noEffectNote says that a write changed nothing.
func (n *Node) noEffectNote() string {
	if n.noEffect {
		return ", which changed nothing"
	}
	return ""
}
