package explain

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Style is what the output can show. The zero value means plain text, as for a
// file.
type Style struct {
	Width int  // columns; 0 means 80
	Color bool // colours and bold; no information depends on them
	ASCII bool // only ASCII characters
	// Program names ctrlplane in a command; empty means ctrlplane.
	Program string
}

const (
	defaultWidth = 80
	maxWidth     = 100 // longer lines are hard to read
	minWidth     = 30  // most words fit
)

func (s Style) lineWidth() int {
	if s.Width <= 0 {
		return defaultWidth
	}
	return max(min(s.Width, maxWidth), minWidth)
}

func (s Style) paint(style lipgloss.Style, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return style.Render(text)
}

func (s Style) bold(text string) string  { return s.paint(lipgloss.NewStyle().Bold(true), text) }
func (s Style) faint(text string) string { return s.paint(lipgloss.NewStyle().Faint(true), text) }
func (s Style) heading(text string) string {
	return s.paint(lipgloss.NewStyle().Bold(true).Foreground(lipgloss.Cyan), text)
}

func (s Style) colorState(state string) string {
	color := lipgloss.Yellow
	switch state {
	case observe.StateRunning:
		color = lipgloss.Green
	case observe.StateFailed:
		color = lipgloss.Red
	}
	return s.paint(lipgloss.NewStyle().Foreground(color), state)
}

// wrap breaks text into lines that fit the width including their indents. A word
// that is longer than a line is not broken, so that names can be copied.
func (s Style) wrap(text, first, rest string) []string {
	return words.WrapLead(s.plainText(text), first, rest, s.lineWidth(), ansi.StringWidth)
}

var (
	asciiText = strings.NewReplacer("…", "...", "×", "x", "÷", "/", "·", "-", "•", "*", "–", "-", "—", "-", "“", `"`, "”", `"`, "’", "'")
	// In a drawing each character is replaced by exactly one, to keep the columns.
	asciiDrawing = strings.NewReplacer("─", "-", "│", "|", "┌", "+", "┐", "+", "└", "+", "┘", "+", "├", "+", "┤", "+",
		"┬", "+", "┴", "+", "┼", "+", "▶", ">", "◀", "<", "▲", "^", "▼", "v", "…", "~")
)

func (s Style) plainText(text string) string {
	if !s.ASCII {
		return text
	}
	return asciiText.Replace(text)
}

func (s Style) plainDrawing(text string) string {
	if !s.ASCII {
		return text
	}
	return asciiDrawing.Replace(text)
}
