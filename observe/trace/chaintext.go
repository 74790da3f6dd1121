package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// writeText draws the chain, one line per link, from the change back to its first cause.
func (c *Chain) writeText(w io.Writer, s Style) error {
	p := newPainter(s, c.phrases())
	fmt.Fprintf(&p.b, "Why %s (%s, from %s)\n", c.happenedTo(p.strong(p.fullName(c.About))), p.formatDuration(c.Took), p.formatClock(c.Start))
	if c.What == Changed {
		c.writeUserChanges(p)
	}
	p.writeSentence(c.summarize(p.phrases))
	c.writeTaints(p)
	c.writeRefusedEvictions(p)
	if e := c.quoted; e != nil {
		p.writeSentence(p.sentence(p.actor(c.Links[0]) + " had written an Event about it: " + words.OneLine(e.Reason+": "+p.shorten(strings.TrimSuffix(e.Note, ".")))))
	}
	since := c.sinceToTell()
	if c.What != Changed {
		before := c.beforeUserChanges(since)
		c.writeSince(p, since[:before])
		since = since[before:]
		c.writeUserChanges(p)
	}
	c.writeIgnored(p)
	c.writeSince(p, since)
	switch {
	case c.Now != "":
		p.writeSentence(p.warn(words.OneLine(c.Now)))
	case c.held:
		p.writeSentence("Its removal is not recorded: finalizers may hold it, or the kubelet of a Pod.")
	}
	for _, failing := range c.Failing {
		p.writeSentence(p.bad(words.OneLine(failing)))
	}
	for _, working := range c.Working {
		p.writeSentence(p.warn(working))
	}
	p.b.WriteString("\n")
	c.writeLinks(p)
	first := c.Links[len(c.Links)-1]
	switch {
	case first.unknownSync != "" && first.claimedCause == 0:
		p.writeSentence("\nThe cause of the last line is not known: its header Ctrlplane-Sync names the sync " + words.OneLine(first.unknownSync) + ", and " + p.actor(first) +
			" has reported no such sync. The process may have stopped reporting, or reports with another user agent or as another user." + p.lastReceived(first))
	case first.unexplained != nil && c.regular != nil:
		p.writeSentence("\nThe cause of the last line is not known, but is likely a timer: " + c.regular.describe(p, first) + ".")
	case first.unexplained != nil:
		p.writeSentence("\nThe cause of the last line is not known." + p.lastReceived(first))
	case c.regular != nil:
		p.writeSentence("\n" + c.regular.describe(p, first) + ".")
	case first.addsNode():
		p.writeSentence("\nctrlplane adds simulated nodes when it starts (--nodes), and for \"ctrlplane nodes add\".")
	case !c.Complete:
		p.b.WriteString("\nThe cause of the last line is not in the records.\n")
	}
	switch {
	case first.writeRecorded:
		p.writeSentence("\nThe chain begins with what " + p.actor(c.Links[max(len(c.Links)-2, 0)]) + " found when it started.")
	case first.Verb == "list" && c.Missed == 0:
		p.b.WriteString("\nRecords begin with the last start of the control plane: earlier causes are not known.\n")
	}
	if c.mayLackCauses() {
		p.b.WriteString("Dropped " + words.Count(c.Missed, "older record") + ": earlier causes may be missing.\n")
	}
	p.writeLegend()
	_, err := io.WriteString(w, p.b.String())
	return err
}

// mayLackCauses reports whether records were dropped that may have led to the chain. What begins with the
// creation of an object from outside is complete, and so is what begins with any other write from outside of which all
// later records are there.
func (c *Chain) mayLackCauses() bool {
	first := c.Links[len(c.Links)-1]
	if c.Missed == 0 || first.isOutside() && first.creates() {
		return false
	}
	return !c.Complete || c.completeAfter == 0 || first.seq <= c.completeAfter
}

// lastReceived says what a client had received last before a write whose cause is not known: of the changes by other
// clients in the namespace of the written object and outside of any.
func (p *painter) lastReceived(n *Node) string {
	e := n.unexplained
	if e == nil || e.Change == "" {
		return ""
	}
	changed := "in that namespace"
	switch e.Object.Namespace {
	case "":
		changed = "to a cluster-scoped object"
	case n.Object.Namespace:
	default:
		changed = "in namespace " + e.Object.Namespace
	}
	return fmt.Sprintf(" The last event of another client's change %s that %s had received before, %s earlier: %s %s.", changed, words.OneLine(cmp.Or(e.Client, p.actor(n))), p.formatDuration(n.Time.Sub(e.Time)), p.objectName(&e.Object), e.Change)
}

// writeLinks draws the links, except what repeats.
func (c *Chain) writeLinks(p *painter) {
	p.fitTimes(slices.Values(c.Links))
	folded := c.foldedRounds()
	for i, n := range c.Links {
		if len(folded) > 0 && i == folded[0].to {
			folded = folded[1:]
		}
		if len(folded) > 0 && i >= folded[0].from {
			if i == folded[0].from {
				p.writeFolded(nil, "    ", "    ", folded[0].what)
			}
			continue
		}
		mark := "  "
		if i > 0 {
			mark = p.pickGlyph("↑ ", "^ ")
			if c.Links[i-1].isLikely() {
				mark = p.noteLikely(p.pickGlyph("⇡ ", "~ "), p.pickGlyph("⇡", "~"))
			}
		}
		p.writeLine(&n.After, mark, "    ", p.describeLink(n))
		for _, note := range append(logNotes(n.LogLines), n.answerNotes()...) {
			p.writeLine(nil, "    ", "    ", p.faint(note))
		}
	}
}

// happenedTo says what happened to the object.
func (c *Chain) happenedTo(object string) string {
	switch {
	case c.What == Refused:
		return "a write to " + object + " was refused"
	case c.What == Failed:
		return "a write to " + object + " failed"
	case c.held:
		return object + " is being deleted"
	}
	return object + " was " + string(c.What)
}

// writeSince says what has happened to the object since, of which nodes are a part.
func (c *Chain) writeSince(p *painter, nodes []*Node) {
	for _, n := range nodes {
		when := "Later"
		if n.Time.Before(c.Links[0].Time) { // the delete of an object that still exists
			when = "Before"
		}
		s := when + ", at " + p.formatClock(n.Time) + ", " + p.actor(n) + " " + p.outcome(n)
		switch {
		case n.writeFailure() != "":
			s = p.bad(s)
		case c.What == Deleted && c.Links[0] == n.markedBy:
			s += ", which removed the object"
			if why := c.reasonOfRemoval(n); why != nil {
				s += ", " + p.because(n, why, "")
			}
		case c.What == Changed && n.isOfOpenSync():
			s += " in a sync without a recorded end: this explains its write before that"
		case n.isApart():
			s += ", which removed the object" + c.hint(n)
		default:
			s += c.hint(n)
		}
		p.writeSentence(p.sentence(s))
	}
}

// reasonOfRemoval returns the event that the removal of the object, which a delete had marked before, follows from; nil
// if n is another write.
func (c *Chain) reasonOfRemoval(n *Node) *Node {
	if c.What == Deleted && c.Links[0] == n.markedBy {
		return n.trigger()
	}
	return nil
}

// foldedRounds returns the links that are not drawn, in order.
func (c *Chain) foldedRounds() []rounds {
	if from, to, attempts := c.repetition(); attempts > 0 {
		return []rounds{{from, to, words.Count(attempts, "more attempt") + " in between"}}
	}
	return c.findRounds()
}

// repetition returns the range of links to leave out, and how many creations it has. A
// controller may create an object again and again because the one before has failed, as the Pods
// of a Job: how the last and the first have failed is worth showing.
func (c *Chain) repetition() (from, to, attempts int) {
	var created []int
	for i, n := range c.Links {
		if n.Kind == Call && n.Verb == "create" && n.Subresource == "" && n.Controller == c.Links[0].Controller && n.Object.Resource == c.Links[0].Object.Resource {
			created = append(created, i)
		}
	}
	if len(created) < 4 || created[0] != 0 || c.all {
		return len(c.Links), len(c.Links), 0
	}
	return created[1] + 1, created[len(created)-2], len(created) - 3
}

// describeLink describes a node of a chain in words.
func (p *painter) describeLink(n *Node) string {
	who := ""
	switch {
	case n.Controller != "":
		who = p.controllerName(n.Controller) + n.asWhom() + " "
	case n.Verb == "list":
		who = p.controllerName(p.actor(n)) + " "
	}
	switch n.Kind {
	case Event:
		return who + describeEvent(p.phrases, n)
	case Sync:
		return who + p.paintSync(n)
	}
	return who + p.paintWrite(n, p.describeWrite(n))
}

func describeEvent(p phrases, n *Node) string {
	return "saw " + p.objectName(n.Object) + " " + n.seenChange()
}
