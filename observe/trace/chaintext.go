package trace

import (
	"fmt"
	"io"
)

// text draws the chain, a line a link, from what is explained back to why.
func (c *Chain) text(w io.Writer, s Style) error {
	p := newPainter(s, c.About.Namespace)
	fmt.Fprintf(&p.b, "Why %s was %s, %s after %s\n\n", p.strong(c.About.String()), c.What, p.duration(c.Took), p.clock(c.Start))
	for i, n := range c.Links {
		mark := "  "
		if i > 0 {
			mark = p.either("↑ ", "^ ")
			if c.Links[i-1].likely() {
				mark = p.either("⇡ ", "~ ")
				p.likely = true
			}
		}
		p.line(&n.After, mark, p.link(n))
		for _, note := range said(n.Said) {
			p.line(nil, "    ", p.faint(note))
		}
	}
	if !c.Complete {
		p.b.WriteString("\nWhat came before is not in the records that are kept.\n")
	}
	p.notice(c.Missed, c.Links[len(c.Links)-1])
	p.legend(p.either("⇡", "~"))
	_, err := io.WriteString(w, p.b.String())
	return err
}

// link is a node of a chain in words.
func (p *painter) link(n *Node) string {
	who := ""
	if n.Controller != "" {
		who = p.who(n.Controller) + " "
	}
	switch n.Kind {
	case Event:
		return who + seenWhat(p.phrases, n)
	case Sync:
		if n.again() {
			who += "again "
		}
		return who + p.sync(n)
	}
	return who + p.write(n)
}

func seenWhat(p phrases, n *Node) string {
	return "saw " + p.object(n.Object) + " " + string(n.Change)
}
