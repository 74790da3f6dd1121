package ui

import (
	"strings"

	"charm.land/lipgloss/v2"
)

// ColorDiff colours a unified diff, line by line.
func (m Mode) ColorDiff(text string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch n++; {
		case n <= 2: // the file headers
			line = m.paintStrong(line)
		case strings.HasPrefix(line, "@@"):
			line = m.paintBusy(line)
		case strings.HasPrefix(line, "+"):
			line = m.paintGood(line)
		case strings.HasPrefix(line, "-"):
			line = m.Paint(lipgloss.NewStyle().Foreground(lipgloss.Red), line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
