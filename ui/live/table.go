package live

import (
	"fmt"

	"github.com/ctrlplane/ctrlplane/observe"
)

// tableMargin is the column of the cursor's mark.
const tableMargin = 1

// placedColumns are the columns of the table at this width.
func (m model) placedColumns() []placed {
	return place(columns(), m.width-tableMargin, m.tally.controllerWidth, m.tally.queueWidth)
}

// tableLines draws the queues in w columns and h rows.
func (m model) tableLines(w, h int) []string {
	s := m.top()
	focused := s.focus == upperPane
	shown := m.placedColumns()
	lines := []string{
		m.title("Queues", m.tableState(), focused, w),
		m.theme.render(m.headings(shown), w, false),
	}
	if len(m.rows) == 0 {
		return append(lines, m.theme.render(text("  "+m.noRows(), faint), w, false))
	}
	l := s.list.within(len(m.rows), h-2)
	for i := l.top; i < len(m.rows) && i < l.top+h-2; i++ {
		selected := focused && i == l.cursor
		lines = append(lines, m.theme.render(m.rowLine(m.rows[i], shown, selected), w, selected))
	}
	return lines
}

// tableState is what the title says of the table.
func (m model) tableState() string {
	if !m.known {
		return ""
	}
	state := fmt.Sprintf("%d of %d active", m.tally.active, m.tally.queues)
	if m.tally.failed > 0 {
		state += fmt.Sprintf(", %d failed", m.tally.failed)
	}
	if m.hideIdle {
		state += ", idle hidden"
	}
	if f := m.screens[0].filter; f != "" {
		state = "/" + f + ", " + state
	}
	return state
}

func (m model) noRows() string {
	switch {
	case !m.known:
		return "waiting for the control plane" + m.theme.tail()
	case m.screens[0].filter != "":
		return "nothing matches the filter"
	case m.hideIdle:
		return "every queue is idle"
	}
	return "there are no queues yet"
}

// headings name the columns and mark the one that is sorted by.
func (m model) headings(shown []placed) line {
	l := text(spaces(tableMargin), plain)
	for i, c := range shown {
		mark, st := "", faint
		if c.id == m.sort.column {
			mark, st = m.theme.either("↓", "v"), lit
			if m.sort.reversed {
				mark = m.theme.either("↑", "^")
			}
		}
		gap := columnGap
		if i == 0 {
			gap = 0
		}
		if c.left {
			l = append(l, span{spaces(gap) + left(c.head+mark, c.w, m.theme.tail()), st})
			continue
		}
		l = append(l, span{right(mark+c.head, gap+c.w, m.theme.tail()), st})
	}
	return l
}

// rowLine draws a row.
func (m model) rowLine(r row, shown []placed, selected bool) line {
	l := m.cursorMark(selected)
	named := false // the queue has a column
	for _, c := range shown {
		named = named || c.id == colQueue
	}
	for i, c := range shown {
		if i > 0 {
			l = append(l, span{spaces(columnGap), plain})
		}
		s, st := m.cell(r, c, named)
		if c.left {
			s = left(s, c.w, m.theme.tail())
		} else {
			s = right(s, c.w, m.theme.tail())
		}
		l = append(l, span{s, st})
	}
	return l
}

func (m model) cell(r row, c placed, named bool) (string, style) {
	nameStyle := plain
	if !r.active() {
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
		return m.theme.bar(r.queue.Depth, c.w), accent
	case colHistory:
		return m.sparkline(r.queue, chartWidth(c.w)), accent
	}
	return c.cell(r.queue, m.theme)
}

// controllerCell names the queue too, where it has no column of its own and the
// controller does not tell which it is.
func controllerCell(r row, named bool) string {
	switch {
	case r.controller == "":
		return "? " + r.name
	case r.shared && !named:
		return r.name + " of " + r.controller
	}
	return r.controller
}

func (m model) sparkline(q *observe.Queue, w int) string {
	return m.theme.chart(q.History, m.snapshot.Time.Unix(), w, 1)[0]
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
