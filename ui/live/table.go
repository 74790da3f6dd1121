package live

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/ui"
)

// tableMargin is the width of the cursor mark.
const tableMargin = 1

// placedColumns returns the columns of the table at the current width.
func (m model) placedColumns() []placedColumn {
	return placeColumns(tableColumns(), m.width-tableMargin, m.totals.labelWidth, m.totals.queueWidth)
}

// tableLines draws the table in w columns and h rows.
func (m model) tableLines(w, h int) []string {
	s := m.currentScreen()
	focused := s.focus == upperPane
	shown := m.placedColumns()
	l := s.view.clampToList(len(m.rows), h-2)
	lines := []string{
		m.titleLine("Controllers", m.tableState(l.top), focused, w),
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

// tableState returns the status text in the title of the table, of which some rows are above
// those that are shown.
func (m model) tableState(above int) string {
	if !m.hasSnapshot {
		return ""
	}
	state := fmt.Sprintf("%d of %d at work now", m.totals.working, m.totals.shown)
	if m.totals.lately > 0 {
		state += fmt.Sprintf(", %d a moment ago", m.totals.lately)
	}
	if m.totals.failed > 0 {
		state += fmt.Sprintf(", %d failed", m.totals.failed)
	}
	if above > 0 {
		state += fmt.Sprintf(", %d above", above)
	}
	f := m.screens[0].filter
	switch {
	case f != "" && m.idleHidden > 0:
		state += ", " + m.idleMatches() + " hidden"
	case m.hideIdle:
		state += ", idle hidden"
	}
	if m.totals.internal > 0 && f == "" {
		state += ", I shows " + ui.GroupDigits(m.totals.internal) + " more rows"
	}
	if f != "" {
		state = "/" + f + ", " + state
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
