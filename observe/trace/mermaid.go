package trace

import (
	"fmt"
	"io"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// writeMermaid draws a sequence diagram of writes, events and syncs.
func (t *Tree) writeMermaid(w io.Writer) error {
	p := t.phrases()
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	b.WriteString("  participant api as API server\n")
	names := map[string]string{ofAPIServer: "api"}
	nodes := t.nodesByTime()
	for _, n := range nodes {
		if lane := n.laneName(); names[lane] == "" {
			names[lane] = fmt.Sprintf("c%d", len(names))
			fmt.Fprintf(&b, "  participant %s as %s\n", names[lane], escapeMermaid(lane))
		}
	}
	for _, s := range p.diagramSteps(nodes, names) {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// diagramSteps returns the lines of the diagram, one per node.
func (p phrases) diagramSteps(nodes []*Node, names map[string]string) []string {
	var list []string
	for _, n := range nodes {
		who, when := names[n.laneName()], "+"+p.formatOffset(n.After)
		unsure := ""
		if n.isLikely() {
			unsure = " (likely)"
		}
		switch n.Kind {
		case Call, Outside:
			arrow, what := "->>", p.requestName(n)
			if n.gotError() {
				what += ": " + p.describeFailure(n)
			}
			if n.Failed {
				arrow = "-x"
			}
			list = append(list, fmt.Sprintf("%s%sapi: %s %s%s", who, arrow, when, escapeMermaid(what), unsure))
		case Event:
			list = append(list, fmt.Sprintf("api-->>%s: %s %s%s", who, when, escapeMermaid(p.nodeTitle(n)), unsure))
		case Sync:
			list = append(list, fmt.Sprintf("Note over %s: %s %s%s", who, when, escapeMermaid(p.describeSync(n)), unsure))
		}
	}
	return list
}

// escapeMermaid removes characters with a meaning in Mermaid.
func escapeMermaid(s string) string {
	return strings.NewReplacer(";", ",", "#", "", "%%", "%", ":", " ").Replace(words.OneLine(s))
}
