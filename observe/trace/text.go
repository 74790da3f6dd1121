package trace

import (
	"fmt"
	"io"
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// writeText draws the tree, one line per write or sync.
func (t *Tree) writeText(w io.Writer, s Style) error {
	p := newPainter(s, t.About.Namespace)
	if len(t.Roots) == 0 {
		fmt.Fprintf(&p.b, "Nothing that %s set off matches the options\n", p.strong(words.OneLine(t.About.String())))
	} else {
		fmt.Fprintf(&p.b, "What %s set off (%s, from %s)\n", p.strong(words.OneLine(t.About.String())), p.formatDuration(t.Took), p.formatClock(t.Start))
	}
	p.writeMissed(t.Missed, t.firstRoot())
	p.b.WriteString("\n")
	for _, n := range t.Roots {
		p.writeBranch(item{n, n}, "", "")
	}
	p.writeLegend(p.pickGlyph("╌", "~"))
	_, err := io.WriteString(w, p.b.String())
	return err
}

// firstRoot returns the first root, or nil.
func (t *Tree) firstRoot() *Node {
	if len(t.Roots) == 0 {
		return nil
	}
	return t.Roots[0]
}

// item is a line of the tree: a node, or an event (top) with a sync that it caused
// (node).
type item struct{ top, node *Node }

// childItems returns the items drawn below n. Retries of a sync are drawn beside it
// because there may be many.
func childItems(n *Node) (list []item, idle int) {
	idle = n.Idle
	for _, c := range n.Children {
		switch {
		case c.isRetry():
		case c.Kind != Event || len(c.Children) == 0:
			list = append(list, withRetries(item{c, c})...)
		default:
			idle += c.Idle
			for _, s := range c.Children {
				list = append(list, withRetries(item{c, s})...)
			}
		}
	}
	return list, idle
}

// withRetries returns an item and, for a sync, its retries.
func withRetries(it item) []item {
	list := []item{it}
	for _, c := range it.node.Children {
		if c.isRetry() {
			list = append(list, withRetries(item{c, c})...)
		}
	}
	return list
}

// isRetry reports whether n is a sync of a requeued key.
func (n *Node) isRetry() bool { return n.Kind == Sync && n.Cause != nil && n.Cause.Rule == ByRetry }

// writeBranch draws an item with the prefix lead, and those below it with rest.
func (p *painter) writeBranch(it item, lead, rest string) {
	n := it.node
	p.writeLine(&it.top.After, lead, p.describeItem(it))
	items, idle := childItems(n)
	var notes []string
	if !n.isRetry() || !slices.Equal(n.LogLines, n.parent.LogLines) {
		notes = logNotes(n.LogLines)
	}
	if n.Empty > 0 {
		notes = append(notes, "and "+words.Count(n.Empty, "collection delete")+" without events")
	}
	if idle > 0 {
		notes = append(notes, "and "+words.Count(idle, "sync")+" without changes")
	}
	if n.Deeper > 0 {
		notes = append(notes, fmt.Sprintf("and %d more below", n.Deeper))
	}
	bar, end := p.pickGlyph("│  ", "|  "), "   "
	for i, note := range notes {
		dot := bar
		if len(items) == 0 && i == len(notes)-1 {
			dot = end
		}
		p.writeLine(nil, rest+dot, p.faint(note))
	}
	for i, c := range items {
		last := i == len(items)-1
		mark := p.branchMark(c, last)
		if last {
			p.writeBranch(c, rest+mark, rest+end)
		} else {
			p.writeBranch(c, rest+mark, rest+bar)
		}
	}
}

// logNotes returns notes for the first few log lines.
func logNotes(lines []string) (notes []string) {
	const most = 3
	for i, l := range lines {
		if i == most {
			return append(notes, "and "+words.Count(len(lines)-most, "more log line"))
		}
		notes = append(notes, `logs "`+words.OneLine(l)+`"`)
	}
	return notes
}

// branchMark returns the line that connects an item to its parent.
func (p *painter) branchMark(it item, last bool) string {
	likely := it.top.isLikely() || it.node.isLikely()
	p.likely = p.likely || likely
	switch {
	case last && likely:
		return p.pickGlyph("└╌ ", "`~ ")
	case last:
		return p.pickGlyph("└─ ", "`- ")
	case likely:
		return p.pickGlyph("├╌ ", "|~ ")
	}
	return p.pickGlyph("├─ ", "|- ")
}

func (n *Node) isLikely() bool { return n.Cause != nil && n.Cause.Certainty == Likely }

// describeItem describes an item in words.
func (p *painter) describeItem(it item) string {
	n, s := it.node, ""
	if n.Kind != Outside && (n.Kind != Call || n.parent == nil || n.root) {
		s = p.controllerName(n.Controller) + " "
	}
	switch n.Kind {
	case Event:
		return s + describeChange(n.Change)
	case Sync:
		if it.top != n {
			s += describeChange(it.top.Change) + ", "
			if n.Cause.Rule == ByDelay {
				s += p.formatDuration(n.addedAt().Sub(it.top.Time)) + " later "
			}
		}
		text := p.describeSync(n)
		if n.Error != "" {
			text = p.bad(text)
		}
		return s + text
	}
	text := p.describeWrite(n)
	if n.failed() {
		text = p.bad(text)
	}
	if it.top != n { // a client's write after an event
		s = p.controllerName(n.Controller) + " " + describeChange(it.top.Change) + ", "
	}
	if n.root && n.parent != nil && n.parent.Key != "" {
		text += ", while syncing " + words.OneLine(n.parent.Key)
	}
	return s + text
}
