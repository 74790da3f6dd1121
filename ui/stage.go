package ui

import (
	"fmt"
	"strings"
	"time"

	"charm.land/lipgloss/v2"
)

// Stage is a part of a start.
type Stage struct {
	Name string
	Took time.Duration // so far, unless Done
	Err  error         // why it failed; shown as such, its text is the caller's to print
	Done bool
}

// nameColumn is how wide the names are made, for the times to line up.
const nameColumn = 15

// line draws a stage that will not be drawn again: one that has ended, or was
// given up.
func (s Stage) line(m Mode) string {
	took := duration(s.Took)
	switch {
	case !s.Done:
		return s.draw(m, m.caution(m.either("·", "-")), nameColumn, "not finished after "+took)
	case s.Err != nil:
		return s.draw(m, m.bad(m.either("✗", "x")), nameColumn, "failed after "+took)
	}
	return s.draw(m, m.good(m.either("✓", "+")), nameColumn, took)
}

// running draws a stage that goes on, in one row of the terminal.
func (s Stage) running(m Mode) string {
	mark := m.busy(m.spinner(int(s.Took / frameTime)))
	took := fmt.Sprintf("%.1f s", s.Took.Seconds())
	column := nameColumn
	if width := m.width(); width > 0 {
		// One column stays free: some terminals wrap when the last is written.
		room := width - len("x ") - len(" ") - len(took) - 1
		if room < 1 {
			return mark
		}
		s.Name, column = m.shorten(s.Name, room), min(column, room)
	}
	return s.draw(m, mark, column, took)
}

// draw puts a line together. The mark, of one column, is for terminals only.
func (s Stage) draw(m Mode, mark string, column int, rest string) string {
	line := pad(s.Name, column) + " " + m.faint(rest)
	if m.Live {
		line = mark + " " + line
	}
	return line
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-lipgloss.Width(s)))
}
