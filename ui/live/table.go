package live

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/ui"
)

// tableMargin is the width of the cursor mark.
const tableMargin = 1

// placedColumns returns the columns of the table at the current width.
func (m model) placedColumns() []placedColumn {
	return placeColumns(tableColumns(), m.width-tableMargin, m.totals.names.label, m.totals.names.queue)
}

// tableLines draws the table in w columns and h rows.
func (m model) tableLines(w, h int) []string {
	s := m.currentScreen()
	focused := s.focus == upperPane
	shown := m.placedColumns()
	l := s.view.clampToList(len(m.rows), h-2)
	lines := []string{
		m.titleLine("Controllers", m.tableState(l.top, w-titleMargin-len("Controllers")), focused, w),
		m.theme.renderLine(m.headingLine(shown), w, false),
	}
	if len(m.rows) == 0 {
		return append(lines, m.theme.renderLine(styledLine("  "+m.emptyTableText(), faint), w, false))
	}
	for i := l.top; i < len(m.rows) && i < l.top+h-2; i++ {
		selected := focused && i == l.cursor
		lines = append(lines, m.theme.renderLine(m.rowLine(m.rows[i], shown, selected), w, selected))
	}
	return lines
}

// tableState returns the status text in the title of the table, of which some rows are above those that are shown. What does
// not fit in w columns beside the rest is left out.
func (m model) tableState(above, w int) string {
	if !m.hasSnapshot {
		return ""
	}
	state := func(lately, above int) string {
		state := fmt.Sprintf("%d of %d active", m.totals.working, m.totals.shown)
		for _, n := range []struct {
			n    int
			what string
		}{{lately, "a moment ago"}, {m.totals.failed, "failed"}, {above, "above"}} {
			if n.n > 0 {
				state += fmt.Sprintf(", %d %s", n.n, n.what)
			}
		}
		return state + m.hiddenRows()
	}
	text := state(m.totals.lately, above)
	if textWidth(text) > w {
		text = state(0, above)
	}
	if textWidth(text) > w {
		text = state(0, 0)
	}
	if f := m.screens[0].filter; f != "" {
		text = "/" + f + ", " + text
	}
	return text
}

// hiddenRows says which rows are hidden, and how to show them.
func (m model) hiddenRows() (state string) {
	f := m.screens[0].filter
	switch {
	case f != "" && m.idleHidden > 0:
		state += ", " + m.idleMatches() + " hidden"
	case m.hideIdle:
		state += ", idle hidden"
	}
	if m.totals.internal > 0 && f == "" {
		state += ", I shows " + ui.GroupDigits(m.totals.internal) + " more"
	}
	return state
}

// idleMatches counts the rows that match the filter and are hidden.
func (m model) idleMatches() string {
	if m.idleHidden == 1 {
		return "1 idle match"
	}
	return ui.GroupDigits(m.idleHidden) + " idle matches"
}

func (m model) emptyTableText() string {
	switch {
	case !m.hasSnapshot:
		return "waiting for the control plane" + m.theme.ellipsis()
	case m.screens[0].filter != "" && m.idleHidden == 1:
		return m.idleMatches() + " is hidden: i shows it"
	case m.screens[0].filter != "" && m.idleHidden > 1:
		return m.idleMatches() + " are hidden: i shows them"
	case m.screens[0].filter != "":
		return "nothing matches the filter"
	case m.hideIdle:
		return "every queue is idle"
	}
	return "no work queues yet"
}

// headingLine draws the headings and marks the sort column.
func (m model) headingLine(shown []placedColumn) line {
	l := styledLine(spaces(tableMargin), plain)
	for i, c := range shown {
		mark, st := "", faint
		if c.id == m.sort.column {
			mark, st = m.theme.pickGlyph("↓", "v"), highlight
			if m.sort.reversed {
				mark = m.theme.pickGlyph("↑", "^")
			}
		}
		gap := columnGap
		if i == 0 {
			gap = 0
		}
		heading := c.heading
		if c.id == colBar {
			scale := formatShort(m.totals.scale)
			heading = alignLeft("0", c.w-len(scale), "") + scale
		}
		if c.left {
			l = append(l, span{spaces(gap) + alignLeft(heading+mark, c.w, m.theme.ellipsis()), st})
			continue
		}
		l = append(l, span{alignRight(mark+heading, gap+c.w, m.theme.ellipsis()), st})
	}
	return l
}

// rowLine draws a row.
func (m model) rowLine(r row, shown []placedColumn, selected bool) line {
	l := m.cursorMark(selected)
	for i, c := range shown {
		if i > 0 {
			l = append(l, span{spaces(columnGap), plain})
		}
		l = append(l, c.cell(m, r, c.w).align(c.w, c.left, m.theme.ellipsis())...)
	}
	return l
}

func stateStyle(state string) style {
	switch state {
	case stateRunning:
		return faint
	case stateFailed, stateFailing:
		return bad
	case stateOff, statePaused, "stopping", "unknown":
		return caution
	}
	return accent
}
