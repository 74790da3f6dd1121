package trace

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// MaxMermaid is how many characters a diagram may have by Mermaid's default of maxTextSize. In place of a longer one, GitHub
// and others show an error.
const MaxMermaid = 50_000

// MermaidLength returns how many characters Mermaid counts in a diagram: units of UTF-16.
func MermaidLength(diagram string) int { return len(utf16.Encode([]rune(diagram))) }

// writeMermaid draws a sequence diagram of writes, events and syncs.
func (t *Tree) writeMermaid(w io.Writer) error {
	p := t.phrases()
	var b strings.Builder
	b.WriteString("sequenceDiagram\n")
	b.WriteString("  participant api as API server\n")
	names := map[string]string{ofAPIServer: "api"}
	steps := t.drawnSteps()
	for _, s := range steps {
		if lane := s.first().laneName(); names[lane] == "" {
			names[lane] = fmt.Sprintf("c%d", len(names))
			fmt.Fprintf(&b, "  participant %s as %s\n", names[lane], escapeMermaid(lane))
		}
	}
	for _, s := range p.diagramSteps(steps, names) {
		fmt.Fprintf(&b, "  %s\n", s)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// diagramSteps returns the lines of the diagram, one per step.
func (p phrases) diagramSteps(steps []step, names map[string]string) []string {
	var list []string
	for _, s := range steps {
		n := s.first()
		who, when := names[n.laneName()], "+"+p.formatOffset(n.After)
		unsure := ""
		if n.isLikely() {
			unsure = " (likely)"
		}
		if s.folded != "" {
			list = append(list, fmt.Sprintf("Note over %s: %s %s", who, when, escapeMermaid(s.foldedText()+seeAll)))
			continue
		}
		switch n.Kind {
		case Call, Outside:
			arrow, what := "->>", p.requestName(n)
			if n.gotError() {
				what += ": " + p.describeFailure(n)
			}
			if n.isRetriedConflict() {
				what += ", retried"
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

// escapeMermaid replaces characters with a meaning in Mermaid: a line may end with a semicolon, and comments begin with # or %%.
// Behind the first colon of a line and in the name of a participant, others have none. The entity #35; would not do: behind the
// word "style", Mermaid drops the semicolon of the last one and, with it, the rest of the line.
func escapeMermaid(s string) string {
	return strings.NewReplacer(";", ",", "#", "＃", "%%", "%").Replace(words.OneLine(s))
}
