package trace

import "github.com/ctrlplane/ctrlplane/observe"

// noteNoEffect notes the writes that changed nothing, as a delete of what does not exist. The API server answers them with the version
// that is stored or, as a dry run that creates an object or the request of a token, with none. Deletes of
// collections are counted on their own.
func (g *graph) noteNoEffect() {
	stored, elsewhere := map[objectVersion]bool{}, g.storedElsewhere()
	for _, c := range g.calls {
		c.noEffect = c.isWrite() && c.foundGone()
		if !c.isWrite() || c.gotError() || c.Gone || c.Verb == observe.VerbRestore || c.Verb == "deletecollection" {
			continue
		}
		version := objectVersion{placeOf(c.Object), c.ResourceVersion}
		switch {
		case g.writesReported && !elsewhere[resourceOf(c.Object)]:
			c.noEffect = len(c.wrote) == 0
			continue
		case c.ResourceVersion == "":
			continue
		case c.creates():
		case c.Verb == "delete": // it may be answered with the last version, and so may the removal of the last finalizer
			continue
		default:
			c.noEffect = stored[version]
		}
		stored[version] = true
	}
}

// storedElsewhere returns the resources that an aggregated API server stores. Of calls of controllers, only the
// creation of an object shows that: it is answered with a version, and the storage does not report it.
func (g *graph) storedElsewhere() map[place]bool {
	found := map[place]bool{}
	for _, c := range g.calls {
		if c.aggregated || c.creates() && !c.gotError() && c.ResourceVersion != "" && len(c.wrote) == 0 {
			found[resourceOf(c.Object)] = true
		}
	}
	return found
}

func resourceOf(o *observe.Object) place { return place{group: o.Group, resource: o.Resource} }

// noEffectNote says that a write changed nothing.
func (n *Node) noEffectNote() string {
	if n.noEffect {
		return ", which changed nothing"
	}
	return ""
}
