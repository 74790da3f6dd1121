package learn

import (
	"regexp"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/ui"
)

// maxProseWidth is the maximum width of prose: longer lines are hard to read.
const maxProseWidth = 80

// style renders text. Colours are the terminal's own sixteen; no information depends on
// them.
type style struct{ ui.Mode }

func (s style) bold(t string) string   { return s.Paint(lipgloss.NewStyle().Bold(true), t) }
func (s style) faint(t string) string  { return s.Paint(lipgloss.NewStyle().Faint(true), t) }
func (s style) italic(t string) string { return s.Paint(lipgloss.NewStyle().Italic(true), t) }
func (s style) code(t string) string {
	return s.Paint(lipgloss.NewStyle().Foreground(lipgloss.Cyan), t)
}
func (s style) good(t string) string {
	return s.Paint(lipgloss.NewStyle().Foreground(lipgloss.Green), t)
}
func (s style) bad(t string) string { return s.Paint(lipgloss.NewStyle().Foreground(lipgloss.Red), t) }
func (s style) formatCue(t string) string {
	return s.Paint(lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true), t)
}

// proseWidth is the width to which text is wrapped.
func (s style) proseWidth() int {
	if c := s.Columns(); c > 0 {
		return min(max(c-1, 20), maxProseWidth)
	}
	return maxProseWidth
}

// wrap wraps a text. The first line begins with first, the other lines with rest.
func (s style) wrap(first, rest, text string) string {
	lines := words.WrapLead(text, first, rest, s.proseWidth(), ansi.StringWidth)
	return strings.ReplaceAll(strings.Join(lines, "\n"), nonBreakingSpace, " ") + "\n"
}

// nonBreakingSpace is a space at which wrap does not break the line.
const nonBreakingSpace = "\u00a0"

var inlineMarkup = regexp.MustCompile("`[^`]+`|\\*\\*[^*]+\\*\\*|\\*[^*\\s][^*]*\\*")

// renderInline renders code, **strong** and *emphasis*. Without colours, code that
// contains spaces is quoted to distinguish it from the text.
func (s style) renderInline(text string) string {
	return inlineMarkup.ReplaceAllStringFunc(text, func(m string) string {
		if m[0] == '`' && len(m) < maxProseWidth-10 {
			m = strings.ReplaceAll(m, " ", nonBreakingSpace)
		}
		switch {
		case m[0] == '`' && (s.Color || !strings.ContainsAny(m, " "+nonBreakingSpace)):
			return s.code(strings.Trim(m, "`"))
		case m[0] == '`':
			return `"` + strings.Trim(m, "`") + `"`
		case strings.HasPrefix(m, "**"):
			return s.bold(strings.Trim(m, "*"))
		}
		return s.italic(strings.Trim(m, "*"))
	})
}
