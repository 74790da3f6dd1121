package live

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// tableMargin is the width of the cursor mark.
const tableMargin = 1

// placedColumns returns the columns of the table at the current width.
func (m model) placedColumns() []placedColumn {
	return placeColumns(tableColumns(), m.width-tableMargin, m.totals.controllerWidth, m.totals.queueWidth)
}

// tableLines draws the table in w columns and h rows.
func (m model) tableLines(w, h int) []string {
	s := m.currentScreen()
	focused := s.focus == upperPane
	shown := m.placedColumns()
	lines := []string{
		m.titleLine("Queues", m.tableState(), focused, w),
		m.theme.renderLine(m.headingLine(shown), w, false),
	}
	if len(m.rows) == 0 {
		return append(lines, m.theme.renderLine(styledLine("  "+m.emptyTableText(), faint), w, false))
	}
	l := s.view.clampToList(len(m.rows), h-2)
	for i := l.top; i < len(m.rows) && i < l.top+h-2; i++ {
		selected := focused && i == l.cursor
		lines = append(lines, m.theme.renderLine(m.rowLine(m.rows[i], shown, selected), w, selected))
	}
	return lines
}

// tableState returns the status text in the title of the table.
func (m model) tableState() string {
	if !m.hasSnapshot {
		return ""
	}
	state := fmt.Sprintf("%d of %d active", m.totals.active, m.totals.queues)
	if m.totals.failed > 0 {
		state += fmt.Sprintf(", %d failed", m.totals.failed)
	}
	f := m.screens[0].filter
	switch {
	case f != "" && m.idleHidden > 0:
		state += ", " + m.idleMatches() + " hidden"
	case m.hideIdle:
		state += ", idle hidden"
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
		if c.left {
			l = append(l, span{spaces(gap) + alignLeft(c.heading+mark, c.w, m.theme.ellipsis()), st})
			continue
		}
		l = append(l, span{alignRight(mark+c.heading, gap+c.w, m.theme.ellipsis()), st})
	}
	return l
}

// rowLine draws a row.
func (m model) rowLine(r row, shown []placedColumn, selected bool) line {
	l := m.cursorMark(selected)
	named := false // the queue name has a column of its own
	for _, c := range shown {
		named = named || c.id == colQueue
	}
	for i, c := range shown {
		if i > 0 {
			l = append(l, span{spaces(columnGap), plain})
		}
		s, st := m.cellText(r, c, named)
		if c.left {
			s = alignLeft(s, c.w, m.theme.ellipsis())
		} else {
			s = alignRight(s, c.w, m.theme.ellipsis())
		}
		l = append(l, span{s, st})
	}
	return l
}

func (m model) cellText(r row, c placedColumn, named bool) (string, style) {
	nameStyle := plain
	if !r.isActive() {
		nameStyle = faint
	}
	switch c.id {
	case colController:
		return controllerCell(r, named), nameStyle
	case colQueue:
		return r.name, nameStyle
	case colState:
		return r.state, stateStyle(r.state)
	}
	if r.queue == nil {
		return "", plain
	}
	switch c.id {
	case colBar:
		return m.theme.depthBar(r.queue.Depth, c.w), accent
	case colHistory:
		return m.historyChart(r.queue, chartWidth(c.w)), accent
	}
	return c.cell(r.queue, m.theme)
}

// controllerCell returns the controller name. It includes the queue name if the
// queue has no column and the controller has several queues.
func controllerCell(r row, named bool) string {
	switch {
	case r.controller == "":
		return "? " + r.name
	case r.shared && !named:
		return r.name + " of " + r.controller
	}
	return r.controller
}

func (m model) historyChart(q *observe.Queue, w int) string {
	return m.theme.depthChart(q.History, m.snapshot.Time.Unix(), w, 1)[0]
}

func stateStyle(state string) style {
	switch state {
	case stateRunning:
		return faint
	case stateFailed:
		return bad
	case stateOff, statePaused, "stopping":
		return caution
	}
	return accent
}
