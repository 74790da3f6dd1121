package ui

import (
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// The styles use the 16 colours of the terminal's palette: they fit its background
// and every colour terminal has them.

func (m Mode) paintGood(s string) string {
	return m.Paint(lipgloss.NewStyle().Foreground(lipgloss.Green), s)
}

func (m Mode) paintBad(s string) string {
	return m.Paint(lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true), s)
}

func (m Mode) paintCaution(s string) string {
	return m.Paint(lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true), s)
}

func (m Mode) paintBusy(s string) string {
	return m.Paint(lipgloss.NewStyle().Foreground(lipgloss.Cyan), s)
}

func (m Mode) paintFaint(s string) string  { return m.Paint(lipgloss.NewStyle().Faint(true), s) }
func (m Mode) paintStrong(s string) string { return m.Paint(lipgloss.NewStyle().Bold(true), s) }

// Paint renders s in a style if colours are shown.
func (m Mode) Paint(style lipgloss.Style, s string) string {
	if !m.Color || s == "" {
		return s
	}
	return style.Render(s)
}

// Glyph returns a character, or its replacement if only ASCII can be shown.
func (m Mode) Glyph(unicode, ascii string) string {
	if m.ASCII {
		return ascii
	}
	return unicode
}

func (m Mode) spinnerFrame(turn int) string {
	frames := []rune(m.Glyph("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", `|/-\`))
	return string(frames[turn%len(frames)])
}

// truncate cuts s to at most width columns (at least one) and marks the cut.
func (m Mode) truncate(s string, width int) string {
	return ansi.Truncate(s, max(width, 1), m.Glyph("…", "~"))
}
