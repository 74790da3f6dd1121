package live

// upperSize is how many lines the upper pane has, and how many rows for them.
func (m model) upperSize(a areas) (lines, h int) {
	if m.currentScreen().kind == queuesScreen {
		return len(m.rows), max(a.upper.h-2, 1)
	}
	return len(m.pageDetails(a.upper.w - detailMargin)), max(a.upper.h-1, 1)
}

// rowIDAt is the row that the cursor of the table is to follow.
func (m model) rowIDAt(i int) string {
	if m.currentScreen().kind != queuesScreen || i >= len(m.rows) {
		return ""
	}
	return m.rows[i].id()
}

// moveCursor answers a key that moves the cursor of the pane with the focus.
func (m model) moveCursor(a action) model {
	s, areas := m.currentScreen(), m.screenAreas()
	if areas.tooSmall {
		return m
	}
	if s.focus == feedPane {
		s.feed = s.feed.moveCursor(a, areas.feed.h-1)
		return m.withCurrentScreen(s)
	}
	n, h := m.upperSize(areas)
	if s.kind == controllerScreen {
		s.view = s.view.panBy(stepSize(a, n, h), n, h)
		return m.withCurrentScreen(s)
	}
	s.view = s.view.moveCursor(a, n, h)
	s.pickedRow = m.rowIDAt(s.view.cursor)
	if a == toTop {
		s.pickedRow = "" // whichever row is there
	}
	return m.withCurrentScreen(s)
}

// openSelected shows what is behind the line under the cursor.
func (m model) openSelected() model {
	s, a := m.currentScreen(), m.screenAreas()
	if a.tooSmall {
		return m
	}
	if s.focus == feedPane {
		e, ok := s.feed.currentEntry(a.feed.h - 1)
		if !ok || e.record.Event == nil {
			return m
		}
		return m.openItem(describeRecord(e.record))
	}
	n, h := m.upperSize(a)
	i := s.view.clamp(n, h).cursor
	switch {
	case i >= n:
	case s.kind == queuesScreen:
		return m.openController(m.rows[i].controller)
	default:
		if o := m.pageDetails(a.upper.w - detailMargin)[i].object; o != nil {
			return m.openObject(*o)
		}
	}
	return m
}

// openItem shows the object of a line of the feed, or else its controller.
func (m model) openItem(i feedItem) model {
	s := m.currentScreen()
	switch {
	case i.object != nil:
		if s.kind == objectScreen && s.object.Same(*i.object) {
			return m
		}
		return m.openObject(*i.object)
	case s.kind == controllerScreen && s.controller == i.controller || i.controller == bootSource:
		return m
	}
	return m.openController(i.controller)
}
