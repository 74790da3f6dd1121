package trace

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// writeMermaid draws a sequence diagram of writes, events and syncs.
func (t *Tree) writeMermaid(w io.Writer) error {
	p := t.phrases()
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	names := map[string]string{}
	nodes := t.nodesByTime()
	if slices.ContainsFunc(nodes, func(n *Node) bool { return n.Kind == Outside }) {
		b.WriteString("  actor outside\n")
	}
	b.WriteString("  participant api as API server\n")
	for _, n := range nodes {
		if n.Controller != "" && names[n.Controller] == "" {
			names[n.Controller] = fmt.Sprintf("c%d", len(names)+1)
			fmt.Fprintf(&b, "  participant %s as %s\n", names[n.Controller], escapeMermaid(n.Controller))
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
		who, when := names[n.Controller], "+"+p.formatOffset(n.After)
		unsure := ""
		if n.isLikely() {
			unsure = " (likely)"
		}
		switch n.Kind {
		case Outside:
			list = append(list, fmt.Sprintf("outside->>api: %s %s", when, escapeMermaid(p.requestName(n))))
		case Call:
			arrow, what := "->>", p.requestName(n)
			if n.failed() {
				what += ": " + p.describeFailure(n)
			}
			if n.Failed {
				arrow = "-x"
			}
			list = append(list, fmt.Sprintf("%s%sapi: %s %s%s", who, arrow, when, escapeMermaid(what), unsure))
		case Event:
			list = append(list, fmt.Sprintf("api-->>%s: %s %s %s%s", who, when, escapeMermaid(p.objectName(n.Object)), n.Change, unsure))
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
