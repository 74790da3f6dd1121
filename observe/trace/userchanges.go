package trace

import (
	"fmt"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// userChanges returns the writes of users that have changed an object, other than its status, since it was last created or restored,
// of nodes in the order of its versions, and the last such write by another one after them. A write that a client makes because of
// an event is not a user's.
func userChanges(nodes []*Node, about observe.Object) (changes []*Node, later *Node) {
	for _, n := range nodes {
		switch effect := n.writeEffect(about); {
		case effect == Created, effect == Deleted, effect == Changed && n.Verb == observe.VerbRestore:
			changes, later = nil, nil
		case effect != Changed || n.Subresource == "status" || n.marks(&about):
		case n.isByUser():
			changes, later = append(changes, n), nil
		case n.Kind == Call:
			later = n
		}
	}
	return changes, later
}

// addUserChanges notes what users have changed since a creation, or before a write that explains little: of the status, or
// one that is not recorded, most often the API server's own.
func (c *Chain) addUserChanges(changes []*Node, later *Node) {
	if len(changes) == 0 {
		return
	}
	shown, last := c.Links[0], changes[len(changes)-1]
	if !slices.Contains(c.Since, last) && !slices.Contains(c.Links, later) {
		c.laterChange = later
	}
	c.onlyStatusSince = later == nil || c.laterChange == later
	isTold := slices.Contains(c.Links, last) && c.laterChange == nil
	if c.What == Created || c.What == Changed && (shown.Subresource == "status" || shown.unrecorded) && !isTold {
		c.userChanges = slices.DeleteFunc(slices.Clone(changes), func(n *Node) bool {
			return slices.Contains(c.Since, n) || c.What == Created && !n.Time.After(shown.Time)
		})
	}
}

// laterChangeNote says who has changed the object after a user, and why: that may have undone the change.
func (c *Chain) laterChangeNote(p phrases, user *Node) string {
	by := c.laterChange
	if by == nil {
		return ""
	}
	began := by.Time
	if began.Before(user.Time) { // it has waited meanwhile
		began = by.End()
	}
	note := fmt.Sprintf("; %s after it, %s %s", p.formatDuration(max(began.Sub(user.Time), 0)), p.actor(by), p.outcome(by))
	if e := by.trigger(); e != nil {
		note += " " + p.because(by, e, "")
	}
	return note
}

// writeUserChanges says how often users have changed the object, and how last.
func (c *Chain) writeUserChanges(p *painter) {
	n := len(c.userChanges)
	if n == 0 {
		return
	}
	last := c.userChanges[n-1]
	text := p.actor(last) + " " + p.outcome(last) + c.laterChangeNote(p.phrases, last)
	when := "at " + p.formatClock(last.Time) + ", "
	switch {
	case c.What == Changed && c.Links[0].unrecorded:
		text = "Its last recorded change by a user: " + when + text
	case c.What == Changed:
		text = "Its last change by a user: " + when + text
		if c.onlyStatusSince {
			text += "; what follows has changed only the status since"
		}
	case n == 1:
		text = "Later, " + when + text + c.hint(last)
	default:
		text = fmt.Sprintf("Later changed %s by requests of users, last %s%s%s", words.Times(n), when, text, c.hint(last))
	}
	p.writeSentence(p.sentence(text))
}

// sinceToTell returns what Since has beside the later change that the sentence about the users' changes tells.
func (c *Chain) sinceToTell() []*Node {
	if len(c.userChanges) == 0 {
		return c.Since
	}
	return slices.DeleteFunc(slices.Clone(c.Since), func(n *Node) bool { return n == c.laterChange })
}

// beforeUserChanges returns how many nodes of a part of Since are earlier than the last change by a user, such as a restore.
func (c *Chain) beforeUserChanges(since []*Node) (n int) {
	if len(c.userChanges) == 0 {
		return 0
	}
	last := c.userChanges[len(c.userChanges)-1]
	for n < len(since) && since[n].Time.Before(last.Time) {
		n++
	}
	return n
}

// writeIgnored says which controllers have ignored the last change, which a user has made.
func (c *Chain) writeIgnored(p *painter) {
	for _, e := range c.ignored {
		p.writeSentence(p.warn(p.sentence(p.actor(e) + " " + describeChange(e))))
	}
}
