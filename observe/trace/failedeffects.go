package trace

import (
	"fmt"
	"maps"
	"net/http"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// failedEffect is a write that a client tries because of an object and cannot make.
type failedEffect struct {
	last  *Node
	times int // in a row
}

// failedEffects returns the writes that clients try because of an object and that have failed since the last time that
// they succeeded, or that the client made up for them with another write. Of a client that reports its syncs, the
// keys that fail are known instead, and a conflict is not a failure.
func (g *graph) failedEffects(about observe.Object) (list []*failedEffect) {
	mine := map[*Node]bool{}
	for _, n := range g.nodes {
		if n.Object != nil && n.isAbout(about) {
			mine[n] = true
		}
	}
	failing := map[subject]*failedEffect{}
	creatorOf := creators{}
	var order []subject
	for _, n := range g.nodes {
		creatorOf.note(n)
		k, ok := n.subject()
		if !ok || n.Kind != Call {
			continue
		}
		switch {
		case !n.Failed || n.isStored():
			maps.DeleteFunc(failing, func(of subject, f *failedEffect) bool { return of == k || n.replaces(f.last) })
		case n.Conflict || n.parent == nil || n.parent.Kind != Event || n.isAbout(about) || !n.descendsFrom(mine),
			n.foundExisting() && creatorOf.createdFor(mine, n): // its cache had not yet seen what it created
		case failing[k] == nil:
			failing[k] = &failedEffect{n, 1}
			order = append(order, k)
		default:
			failing[k].last = n
			failing[k].times++
		}
	}
	for _, k := range order {
		if f := failing[k]; f != nil {
			list = append(list, f)
			delete(failing, k)
		}
	}
	return list
}

// creators are the calls that have created the objects that exist.
type creators map[place]*Node

func (c creators) note(n *Node) {
	for _, w := range n.wrote {
		if w.Deleted {
			delete(c, placeOfWritten(w))
		}
	}
	switch {
	case n.Object == nil:
	case n.Gone:
		delete(c, placeOf(n.Object))
	case n.creates() && !n.failed():
		c[placeOf(n.Object)] = n
	}
}

// createdFor reports whether the object of a call was created by the same controller, and because of the same nodes.
func (c creators) createdFor(mine map[*Node]bool, n *Node) bool {
	by := c[placeOf(n.Object)]
	return by != nil && by.Controller == n.Controller && by.descendsFrom(mine)
}

// replaces reports whether a write has created or removed the object that the same client could not write before, or
// has written the object that it could not create because it exists.
func (n *Node) replaces(failed *Node) bool {
	return (n.creates() || n.Gone || failed.foundExisting()) && failed.Controller == n.Controller && placeOf(failed.Object) == placeOf(n.Object)
}

// foundExisting reports whether n was to create an object that exists: many clients create first, and update then.
func (n *Node) foundExisting() bool {
	exists := strings.HasSuffix(n.Error, "already exists") && !strings.HasPrefix(n.Error, "object is being deleted") ||
		strings.HasSuffix(n.Error, "AlreadyExists") // of a Secret, only the reason is recorded
	return n.Verb == "create" && n.Status == http.StatusConflict && exists
}

// describeFailedEffect says which write fails, how often and why.
func (p phrases) describeFailedEffect(f *failedEffect) string {
	times := "once"
	if f.times > 1 {
		times = fmt.Sprintf("%d times in a row", f.times)
	}
	return p.sentence(fmt.Sprintf("%s fails to %s, %s: %s", p.actor(f.last), p.requestName(f.last), times, p.reason(f.last)))
}
