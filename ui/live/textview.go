package live

import (
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/trace"
)

// textView is a text that covers the screen: a record in full, or the story of an object.
type textView struct {
	title   string
	lines   func(m model, w int) []line
	object  *observe.Object // that enter, t, w and e are about; nil = none
	key     *queueKey       // that t, w and e are about, without an object; nil = none
	nextWhy trace.What      // that w explains; "" = the first change that is recorded
	owner   string          // the controller that enter opens, without an object
	copied  string          // what y copies
}

// openText shows a text.
func (m model) openText(t textView) model {
	m.text = &t
	return m.openOverlay(textOverlay)
}

// openSubject opens the page of what a text is about.
func (m model) openSubject() model {
	t := m.text
	m.overlay = noOverlay
	switch {
	case t.object != nil:
		return m.openObject(*t.object)
	case t.owner != "" && t.owner != m.currentScreen().controller:
		return m.openController(t.owner)
	}
	return m
}

// plainLines returns lines of plain text, each wrapped.
func plainLines(text string) func(model, int) []line {
	return func(_ model, w int) []line {
		var lines []line
		for _, l := range words.Lines(text) {
			for _, part := range wrapIndented(l, w-2) {
				lines = append(lines, line{{" ", plain}, {part, plain}})
			}
		}
		return lines
	}
}

// wrapIndented wraps a line and keeps its indentation. A word that is longer than the
// line is broken.
func wrapIndented(s string, w int) []string {
	if textWidth(s) <= w {
		return []string{s}
	}
	indent := len(s) - len(strings.TrimLeft(s, " "))
	if indent > w/2 {
		indent = 0
	}
	room := max(w-indent, 1)
	var out []string
	for _, part := range wrapWords(s, room) {
		for part != "" {
			head := cutColumns(part, room)
			out, part = append(out, spaces(indent)+head), part[len(head):]
		}
	}
	return out
}
