package live

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
)

// wheelStep is how many lines a turn of the wheel scrolls.
const wheelStep = 3

// wheel scrolls the pane under the pointer.
func (m model) wheel(e tea.Mouse) model {
	by := 0
	switch e.Button {
	case tea.MouseWheelUp:
		by = -wheelStep
	case tea.MouseWheelDown:
		by = wheelStep
	}
	if m.overlay != noOverlay {
		m.page = m.page.pan(by, len(m.overlayLines(m.width)), m.overlayHeight())
		return m
	}
	a, s := m.areas(), m.top()
	switch {
	case a.feed.has(e.X, e.Y):
		s.feed = s.feed.scroll(by, a.feed.h-1)
	case a.upper.has(e.X, e.Y):
		n, h := m.upperSize(a)
		if s.kind == controllerScreen {
			s.list = s.list.pan(by, n, h)
			break
		}
		s.list = s.list.scroll(by, n, h)
		s.picked = m.rowID(s.list.cursor)
	}
	return m.withTop(s)
}

// click selects a line, and a second one opens it; on a heading it sorts.
func (m model) click(e tea.Mouse) model {
	if e.Button != tea.MouseLeft || m.asking || m.intent != nil || m.overlay != noOverlay {
		return m
	}
	a, s, was := m.areas(), m.top(), m.clicked
	m.clicked = ""
	switch {
	case a.feed.has(e.X, e.Y):
		s.focus = feedPane
		visible, h := s.feed.visible(), a.feed.h-1
		l := s.feed.list(visible, h)
		line := l.top + e.Y - a.feed.y - 1
		if e.Y > a.feed.y && line < len(visible) {
			s.feed.follow = false
			s.feed = s.feed.at(list{line, l.top}, visible)
			m.clicked = fmt.Sprint("entry ", visible[line].id)
		}
	case a.upper.has(e.X, e.Y):
		s.focus = upperPane
		if s.kind == controllerScreen {
			break
		}
		n, h := m.upperSize(a)
		head := a.upper.h - h
		if s.kind == queuesScreen && e.Y == a.upper.y+1 {
			return m.withTop(s).sortAt(e.X)
		}
		s.list = s.list.within(n, h)
		line := s.list.top + e.Y - a.upper.y - head
		if e.Y >= a.upper.y+head && line < n {
			s.list.cursor = line
			s.picked = m.rowID(line)
			m.clicked = fmt.Sprint("line ", line, s.picked)
		}
	}
	m = m.withTop(s)
	if m.clicked != "" && m.clicked == was {
		m.clicked = ""
		return m.open()
	}
	return m
}

// sortAt sorts by the column at x, or the other way round if it is sorted by.
func (m model) sortAt(x int) model {
	for _, c := range m.placedColumns() {
		if c.compare == nil || x < tableMargin+c.x-columnGap+1 || x >= tableMargin+c.x+c.w {
			continue
		}
		if m.sort.column == c.id {
			m.sort.reversed = !m.sort.reversed
		} else {
			m.sort = sorting{column: c.id}
		}
		return m.arrange(true)
	}
	return m
}
