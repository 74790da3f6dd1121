package trace

import (
	"maps"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// ownerName identifies an object as the reference of what it owns does. Its namespace is that of the owned object, or empty.
type ownerName struct{ kind, namespace, name string }

// unexplainedCreations returns the creations of what an object owns, directly or not, that the tree lacks: a client has made
// them, perhaps for an event, and the cause is not known.
func (g *graph) unexplainedCreations(about observe.Object, mine map[*Node]bool) (found []*Node) {
	owners := map[ownerName]bool{{about.Kind, about.Namespace, about.Name}: true}
	for _, n := range g.nodes {
		if n.Kind != Call || !n.creates() || n.gotError() || n.noEffect {
			continue
		}
		explained := mine[n] || n.descendsFrom(mine)
		owned := n.owner != nil && (owners[ownerName{n.owner.Kind, n.Object.Namespace, n.owner.Name}] || owners[ownerName{n.owner.Kind, "", n.owner.Name}])
		if explained || owned {
			owners[ownerName{n.Object.Kind, n.Object.Namespace, n.Object.Name}] = true
		}
		if owned && !explained && n.unexplained != nil {
			found = append(found, n)
		}
	}
	return found
}

// unexplainedNote says what was created for the object and is not shown, as its causes are not known.
func (t *Tree) unexplainedNote(p phrases) string {
	count := map[string]int{}
	for _, n := range t.unexplained {
		count[p.kindName(n.Object)]++
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(count)) {
		kinds = append(kinds, countKind(count[kind], kind))
	}
	if len(kinds) == 0 {
		return ""
	}
	return "Not shown, because their causes are not known: " + words.And(kinds) + " that it owns, directly or not"
}
