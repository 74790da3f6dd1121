package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Stage is one step of a start.
type Stage struct {
	Name string
	Took time.Duration // so far, unless Done
	Err  error         // why it failed; the caller prints its text
	Done bool
}

// nameColumn is the width of the name column.
const nameColumn = 15

// finalLine draws a stage that has ended or was abandoned.
func (s Stage) finalLine(m Mode) string {
	took := words.Duration(s.Took)
	switch {
	case !s.Done:
		return s.formatLine(m, m.paintCaution(m.Glyph("·", "-")), nameColumn, "not finished after "+took)
	case s.Err != nil:
		return s.formatLine(m, m.paintBad(m.Glyph("✗", "x")), nameColumn, "failed after "+took)
	}
	return s.formatLine(m, m.paintGood(m.Glyph("✓", "+")), nameColumn, took)
}

// runningLine draws a running stage in exactly one row of the terminal.
func (s Stage) runningLine(m Mode) string {
	mark := m.paintBusy(m.spinnerFrame(int(s.Took / frameInterval)))
	took := fmt.Sprintf("%.1f s", s.Took.Seconds())
	column := nameColumn
	if width := m.Columns(); width > 0 {
		// Some terminals wrap when the last column is written: leave it free.
		room := width - len("x ") - len(" ") - len(took) - 1
		if room < 1 {
			return mark
		}
		s.Name, column = m.truncate(s.Name, room), min(column, room)
	}
	return s.formatLine(m, mark, column, took)
}

// formatLine joins the parts of a line. Only terminals get the mark, which is one
// column wide.
func (s Stage) formatLine(m Mode, mark string, column int, rest string) string {
	line := padRight(s.Name, column) + " " + m.paintFaint(rest)
	if m.Live {
		line = mark + " " + line
	}
	return line
}

func padRight(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}
