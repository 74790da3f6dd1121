package trace

import (
	"fmt"
	"io"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// writeText draws the chain, one line per link, from the change back to its first cause.
func (c *Chain) writeText(w io.Writer, s Style) error {
	p := newPainter(s, c.About.Namespace)
	fmt.Fprintf(&p.b, "Why %s was %s (%s, from %s)\n", p.strong(words.OneLine(c.About.String())), c.What, p.formatDuration(c.Took), p.formatClock(c.Start))
	p.writeSentence(c.summarize(p.phrases))
	p.b.WriteString("\n")
	for i, n := range c.Links {
		mark := "  "
		if i > 0 {
			mark = p.pickGlyph("↑ ", "^ ")
			if c.Links[i-1].isLikely() {
				mark = p.pickGlyph("⇡ ", "~ ")
				p.likely = true
			}
		}
		p.writeLine(&n.After, mark, "    ", p.describeLink(n))
		for _, note := range logNotes(n.LogLines) {
			p.writeLine(nil, "    ", "    ", p.faint(note))
		}
	}
	if !c.Complete {
		p.b.WriteString("\nThe cause of the last line is not in the records.\n")
	}
	first := c.Links[len(c.Links)-1]
	if first.Verb == "list" {
		p.b.WriteString("\nRecords begin with the last start of the control plane: earlier causes are not known.\n")
	}
	p.writeMissed(c.Missed, first)
	p.writeLegend(p.pickGlyph("⇡", "~"))
	_, err := io.WriteString(w, p.b.String())
	return err
}

// describeLink describes a node of a chain in words.
func (p *painter) describeLink(n *Node) string {
	who := ""
	if n.Controller != "" {
		who = p.controllerName(n.Controller) + " "
	}
	switch n.Kind {
	case Event:
		return who + describeEvent(p.phrases, n)
	case Sync:
		return who + p.describeSync(n)
	}
	return who + p.describeWrite(n)
}

func describeEvent(p phrases, n *Node) string {
	return "saw " + p.objectName(n.Object) + " " + string(n.Change)
}
