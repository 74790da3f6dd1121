package ui

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"charm.land/lipgloss/v2"
)

// The styles use the terminal's own sixteen colours, so that they suit its
// background, and so that no terminal with colours lacks one.

func (m Mode) good(s string) string {
	return m.paint(lipgloss.NewStyle().Foreground(lipgloss.Green), s)
}

func (m Mode) bad(s string) string {
	return m.paint(lipgloss.NewStyle().Foreground(lipgloss.Red).Bold(true), s)
}

func (m Mode) caution(s string) string {
	return m.paint(lipgloss.NewStyle().Foreground(lipgloss.Yellow).Bold(true), s)
}

func (m Mode) busy(s string) string {
	return m.paint(lipgloss.NewStyle().Foreground(lipgloss.Cyan), s)
}

func (m Mode) faint(s string) string  { return m.paint(lipgloss.NewStyle().Faint(true), s) }
func (m Mode) strong(s string) string { return m.paint(lipgloss.NewStyle().Bold(true), s) }

func (m Mode) paint(style lipgloss.Style, s string) string {
	if !m.Color {
		return s
	}
	return style.Render(s)
}

func (m Mode) either(unicode, ascii string) string {
	if m.ASCII {
		return ascii
	}
	return unicode
}

func (m Mode) spinner(turn int) string {
	frames := []rune(m.either("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", `|/-\`))
	return string(frames[turn%len(frames)])
}

// shorten cuts s to at most width columns, at least one, and marks that.
func (m Mode) shorten(s string, width int) string {
	if lipgloss.Width(s) <= width {
		return s
	}
	tail := m.either("…", "~")
	if width <= 1 { // 0 is no limit to lipgloss
		return tail
	}
	return lipgloss.NewStyle().Inline(true).MaxWidth(width-1).Render(s) + tail
}

// duration writes d for people: "41 ms", "1.2 s", "2 m 05 s".
func duration(d time.Duration) string {
	switch ms := d.Round(time.Millisecond); {
	case ms <= 0:
		return "<1 ms"
	case ms < time.Second:
		return fmt.Sprintf("%d ms", ms.Milliseconds())
	case ms < 59950*time.Millisecond:
		return fmt.Sprintf("%.1f s", ms.Seconds())
	}
	s := int(d.Round(time.Second).Seconds())
	return fmt.Sprintf("%d m %02d s", s/60, s%60)
}

// oneLine makes text that came from elsewhere harmless to a terminal.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
}
