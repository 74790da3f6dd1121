package live

import (
	"fmt"

	tea "charm.land/bubbletea/v2"
)

// wheelStep is how many lines one wheel event scrolls.
const wheelStep = 3

// handleWheel scrolls the pane under the pointer.
func (m model) handleWheel(e tea.Mouse) model {
	by := 0
	switch e.Button {
	case tea.MouseWheelUp:
		by = -wheelStep
	case tea.MouseWheelDown:
		by = wheelStep
	}
	if m.overlay != noOverlay {
		m.overlayView = m.overlayView.panBy(by, len(m.overlayLines(m.width)), m.overlayHeight())
		return m
	}
	a, s := m.screenAreas(), m.currentScreen()
	switch {
	case a.feed.contains(e.X, e.Y) && m.showsOutput():
		m.output = m.output.scroll(by)
		return m
	case a.feed.contains(e.X, e.Y):
		s.feed = s.feed.scrollBy(by, a.feed.h-1)
	case a.upper.contains(e.X, e.Y):
		n, h := m.upperSize(a)
		if s.kind == controllerScreen {
			s.view = s.view.panBy(by, n, h)
			break
		}
		s.view = s.view.scrollBy(by, n, h)
		s.pickedRow = m.rowIDAt(s.view.cursor)
	}
	return m.withCurrentScreen(s)
}

// handleClick selects a line, opens a line that is selected already, or sorts by
// the clicked heading.
func (m model) handleClick(e tea.Mouse) model {
	if e.Button != tea.MouseLeft || m.askingQuit || m.confirming != nil || m.overlay != noOverlay {
		return m
	}
	a, s, was := m.screenAreas(), m.currentScreen(), m.clicked
	m.clicked = ""
	switch {
	case a.feed.contains(e.X, e.Y) && m.showsOutput():
		s.focus = feedPane
	case a.feed.contains(e.X, e.Y):
		s.focus = feedPane
		visible, h := s.feed.visibleEntries(), a.feed.h-1
		l := s.feed.viewportOf(visible, h)
		line := l.top + e.Y - a.feed.y - 1
		if e.Y > a.feed.y && line < len(visible) {
			s.feed.following = false
			s.feed = s.feed.withViewport(viewport{line, l.top}, visible)
			m.clicked = fmt.Sprint("entry ", visible[line].id)
		}
	case a.upper.contains(e.X, e.Y):
		s.focus = upperPane
		if s.kind == controllerScreen {
			break
		}
		n, h := m.upperSize(a)
		head := a.upper.h - h
		if s.kind == queuesScreen && e.Y == a.upper.y+1 {
			return m.withCurrentScreen(s).sortAt(e.X)
		}
		s.view = s.view.clampToList(n, h)
		line := s.view.top + e.Y - a.upper.y - head
		if e.Y >= a.upper.y+head && line < n {
			s.view.cursor = line
			s.pickedRow = m.rowIDAt(line)
			m.clicked = fmt.Sprint("line ", line, s.pickedRow)
		}
	}
	m = m.withCurrentScreen(s)
	if m.clicked != "" && m.clicked == was {
		m.clicked = ""
		return m.openSelected()
	}
	return m
}

// sortAt sorts by the column at x, or reverses the order if it is the sort column.
func (m model) sortAt(x int) model {
	for _, c := range m.placedColumns() {
		if c.compare == nil || x < tableMargin+c.x-columnGap+1 || x >= tableMargin+c.x+c.w {
			continue
		}
		if m.sort.column == c.id {
			m.sort.reversed = !m.sort.reversed
		} else {
			m.sort = sortOrder{column: c.id}
		}
		return m.arrangeRows(true)
	}
	return m
}
