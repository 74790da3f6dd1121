package trace

import (
	"fmt"
	"io"
	"slices"
)

// text draws the tree, a line a write or sync.
func (t *Tree) text(w io.Writer, s Style) error {
	p := newPainter(s, t.About.Namespace)
	if len(t.Roots) == 0 {
		fmt.Fprintf(&p.b, "Of %s there is nothing that was asked for\n", p.strong(t.About.String()))
	} else {
		fmt.Fprintf(&p.b, "What came of %s, from %s on, in %s\n", p.strong(t.About.String()), p.clock(t.Start), p.duration(t.Took))
	}
	p.notice(t.Missed, t.first())
	p.b.WriteString("\n")
	for _, n := range t.Roots {
		p.branch(item{n, n}, "", "")
	}
	p.legend(p.either("╌", "~"))
	_, err := io.WriteString(w, p.b.String())
	return err
}

// first is the first root; nil if there is none.
func (t *Tree) first() *Node {
	if len(t.Roots) == 0 {
		return nil
	}
	return t.Roots[0]
}

// item is a line of the tree: a node, or an event with a sync that it led to,
// which top and node then are.
type item struct{ top, node *Node }

// below lists what is drawn below n. A sync that was put back and what became of
// that stand side by side: they may be many.
func below(n *Node) (list []item, idle int) {
	idle = n.Idle
	for _, c := range n.Children {
		switch {
		case c.again():
		case c.Kind != Event || len(c.Children) == 0:
			list = append(list, tries(item{c, c})...)
		default:
			idle += c.Idle
			for _, s := range c.Children {
				list = append(list, tries(item{c, s})...)
			}
		}
	}
	return list, idle
}

// tries are an item and, of a sync, the later ones of the same key.
func tries(it item) []item {
	list := []item{it}
	for _, c := range it.node.Children {
		if c.again() {
			list = append(list, tries(item{c, c})...)
		}
	}
	return list
}

// again says whether n is a sync of a key that was put back.
func (n *Node) again() bool { return n.Kind == Sync && n.Cause != nil && n.Cause.Rule == ByRetry }

// branch draws an item behind lead, and what is below it behind rest.
func (p *painter) branch(it item, lead, rest string) {
	n := it.node
	p.line(&it.top.After, lead, p.say(it))
	items, idle := below(n)
	var notes []string
	if !n.again() || !slices.Equal(n.Said, n.parent.Said) {
		notes = said(n.Said)
	}
	if n.Empty > 0 {
		notes = append(notes, "and "+count(n.Empty, "delete")+" of a whole collection that nobody was told of")
	}
	if idle > 0 {
		notes = append(notes, "and "+count(idle, "sync")+" that changed nothing")
	}
	if n.Deeper > 0 {
		notes = append(notes, fmt.Sprintf("and %d more below", n.Deeper))
	}
	bar, end := p.either("│  ", "|  "), "   "
	for i, note := range notes {
		dot := bar
		if len(items) == 0 && i == len(notes)-1 {
			dot = end
		}
		p.line(nil, rest+dot, p.faint(note))
	}
	for i, c := range items {
		last := i == len(items)-1
		mark := p.mark(c, last)
		if last {
			p.branch(c, rest+mark, rest+end)
		} else {
			p.branch(c, rest+mark, rest+bar)
		}
	}
}

// said are a controller's own words, the first few.
func said(lines []string) (notes []string) {
	const most = 3
	for i, l := range lines {
		if i == most {
			return append(notes, fmt.Sprintf("says %d lines more", len(lines)-most))
		}
		notes = append(notes, `says "`+oneLine(l)+`"`)
	}
	return notes
}

// mark is the end of the branch that an item hangs on.
func (p *painter) mark(it item, last bool) string {
	likely := it.top.likely() || it.node.likely()
	p.likely = p.likely || likely
	switch {
	case last && likely:
		return p.either("└╌ ", "`~ ")
	case last:
		return p.either("└─ ", "`- ")
	case likely:
		return p.either("├╌ ", "|~ ")
	}
	return p.either("├─ ", "|- ")
}

func (n *Node) likely() bool { return n.Cause != nil && n.Cause.Certainty == Likely }

// say is an item in words.
func (p *painter) say(it item) string {
	n, s := it.node, ""
	if n.Kind != Outside && (n.Kind != Call || n.parent == nil || n.root) {
		s = p.who(n.Controller) + " "
	}
	switch n.Kind {
	case Event:
		return s + seen(n.Change)
	case Sync:
		if it.top != n {
			s += seen(it.top.Change) + ", "
			if n.Cause.Rule == ByDelay {
				s += p.duration(n.added().Sub(it.top.Time)) + " later "
			}
		} else if n.again() {
			s += "again "
		}
		text := p.sync(n)
		if n.Error != "" {
			text = p.bad(text)
		}
		return s + text
	}
	text := p.write(n)
	if n.failed() {
		text = p.bad(text)
	}
	if n.root && n.parent != nil && n.parent.Key != "" {
		text += ", in its sync of " + n.parent.Key
	}
	return s + text
}
