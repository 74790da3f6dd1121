package trace

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// creation is what the attempts to create an object have in common if each generates another name. Its status stands
// for the reason: the text has the name, or the port of a connection.
type creation struct {
	client, verb string
	kind         place // without a name
	owner        observe.Object
	status       int
	superseded   bool
}

// creation returns what a write is an attempt at, if it was to create an object: an apply has an owner only if it may be that.
func (n *Node) creation() (c creation, ok bool) {
	applies := n.Verb == "patch" && n.owner != nil
	if n.Object == nil || n.Object.Name == "" || n.Subresource != "" || n.dryRun || n.Verb != "create" && !applies {
		return creation{}, false
	}
	c = creation{client: n.Controller, verb: n.Verb, kind: placeOf(n.Object), status: n.Status}
	c.kind.name = ""
	if n.owner != nil {
		c.owner = *n.owner
	}
	return c, true
}

// createsLike reports whether a creation by a client is of the kind, and with the owner, of one that has failed.
func (n *Node) createsLike(failed *Node) bool {
	mine, isMine := n.creation()
	c, ok := failed.creation()
	return isMine && ok && mine.client == c.client && mine.kind == c.kind && mine.owner == c.owner
}

// foldRenamed replaces attempts to create an object, each under another name, by one that counts them, or by none if the
// client has succeeded since. What a client tries at once does not count: it may be to create several objects, each of which it
// tries again under its name soon. effects are in the order in which they began.
func (g *graph) foldRenamed(effects []*failedEffect) []*failedEffect {
	attempts, existed := map[creation][]*failedEffect{}, g.writtenPlaces()
	for _, f := range effects {
		if c, ok := f.last.creation(); ok && f.times == 1 && !existed[placeOf(f.last.Object)] {
			c.superseded = f.superseded
			attempts[c] = append(attempts[c], f)
		}
	}
	for c, list := range attempts {
		first, last := list[0], list[len(list)-1]
		if len(list) < failingOften || last.last.Time.Sub(first.first.Time) < minPolledFailing {
			continue
		}
		effects = slices.DeleteFunc(effects, func(f *failedEffect) bool { return slices.Contains(list, f) })
		if !c.superseded {
			effects = append(effects, foldAttempts(list))
		}
	}
	slices.SortFunc(effects, func(a, b *failedEffect) int { return compareTime(a.first, b.first) })
	return effects
}

// foldAttempts returns attempts under several names as one write.
func foldAttempts(list []*failedEffect) *failedEffect {
	folded := *list[0]
	for _, f := range list[1:] {
		folded.pause = max(folded.pause, f.first.Time.Sub(folded.last.Time))
		folded.last, folded.waits, folded.ended = f.last, f.waits, f.ended
		folded.follows, folded.owned = folded.follows || f.follows, folded.owned || f.owned
	}
	folded.times, folded.renamed = len(list), true
	return &folded
}

// owner names the owner of what fails under another name each time, unless that is what is explained.
func (f *failedEffect) owner() string {
	o := f.last.owner
	if !f.renamed || f.owned || o == nil {
		return ""
	}
	return " for " + words.OneLine(o.Kind+" "+o.Name)
}

// writtenPlaces returns the places of all objects that the recorded calls have written.
func (g *graph) writtenPlaces() map[place]bool {
	written := map[place]bool{}
	for _, n := range g.calls {
		for _, w := range n.wrote {
			written[placeOfWritten(w)] = true
		}
	}
	return written
}
