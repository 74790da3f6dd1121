package trace

import (
	"cmp"
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// minorWrite is a write of the status, or a dry run, as a client tries it again and again.
type minorWrite struct {
	client         string
	status, dryRun bool
	verb           string // of a dry run
}

// forgetMadeUp replaces those that were refused or have failed by the last ones that still count: the client has made
// up for one of the status by a later one, also if that changed nothing, and for a dry run by another one or by the write.
func (l *lastWrites) forgetMadeUp(mine []*Node, about observe.Object) {
	delete(l.of, Refused)
	delete(l.of, Failed)
	made := map[minorWrite]bool{}
	for _, n := range slices.Backward(mine) {
		w := minorWrite{client: n.Controller, status: n.Subresource == "status", dryRun: n.dryRun}
		if n.dryRun {
			w.verb = n.Verb
		}
		switch effect := n.writeEffect(about); {
		case effect == Refused || effect == Failed:
			if isMinor := w.status || w.dryRun; l.of[effect] == nil && !(isMinor && made[w]) {
				l.of[effect] = n
			}
		case n.isWrite() && !n.gotError():
			made[w] = true
			w.dryRun, w.verb = true, n.Verb
			made[w] = true
		}
	}
}

// addLater adds the last change of a kind, or instead the later write that makes it obsolete: a
// restore has brought back what was deleted, and after a refusal a client has succeeded.
func (c *Chain) addLater(what What, last *lastWrites) {
	n, by := last.of[what], last.byClient
	switch what {
	case Created:
		by = nil
	case Deleted:
		by = last.restored
	}
	if by != nil && compareTime(by, n) > 0 {
		n = by
	}
	if n = n.decisive(); !slices.Contains(c.Since, n) {
		c.Since = append(c.Since, n)
	}
}

// addRestore adds the restore that has brought back the object whose deletion is explained.
func (c *Chain) addRestore(last *lastWrites) {
	by, deleted := last.restored, c.Links[0]
	isLater := func(n *Node) bool { return n != nil && compareTime(n, deleted) > 0 }
	if c.What == Deleted && isLater(by) && !isLater(last.of[Created]) {
		c.Since = append(c.Since, by)
	}
}

// noteReplaced notes the objects that a restore has removed because another one with the same name is in
// the snapshot. All writes of a restore have the time when it began.
func (g *graph) noteReplaced() {
	type restoredAt struct {
		place
		time int64
	}
	removed := map[restoredAt]*Node{}
	for _, n := range g.calls {
		if n.Verb != observe.VerbRestore {
			continue
		}
		at := restoredAt{placeOf(n.Object), n.Time.UnixNano()}
		if n.Gone {
			removed[at] = n
		} else if before := removed[at]; before != nil {
			before.replaced = true
		}
	}
}

// hint names the command or the key that shows more about a later write.
func (c *Chain) hint(n *Node) string {
	what, command, shows := Deleted, c.whyDeleted, "why"
	switch {
	case n.creates(), n.Verb == observe.VerbRestore && !n.Gone, c.isRemovedApart(n):
		return ""
	case !n.marks(&c.About) && n.writeEffect(c.About) == Changed:
		what, command, shows = Changed, c.whyChanged, "the last change"
	}
	if c.Next() == what {
		command = cmp.Or(c.whyNext, command)
	}
	if command == "" {
		return ""
	}
	return ": \"" + command + "\" shows " + shows
}
