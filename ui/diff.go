package ui

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// Diff colours a unified diff, line by line.
func (m Mode) Diff(text string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch n++; {
		case n <= 2: // what is compared
			line = m.strong(line)
		case strings.HasPrefix(line, "@@"):
			line = m.busy(line)
		case strings.HasPrefix(line, "+"):
			line = m.good(line)
		case strings.HasPrefix(line, "-"):
			line = m.paint(lipgloss.NewStyle().Foreground(lipgloss.Red), line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
