package live

// upperSize is how many lines the upper pane has, and how many rows for them.
func (m model) upperSize(a areas) (lines, h int) {
	if m.top().kind == queuesScreen {
		return len(m.rows), max(a.upper.h-2, 1)
	}
	return len(m.details(a.upper.w - detailMargin)), max(a.upper.h-1, 1)
}

// rowID is the row that the cursor of the table is to follow.
func (m model) rowID(i int) string {
	if m.top().kind != queuesScreen || i >= len(m.rows) {
		return ""
	}
	return m.rows[i].id()
}

// move answers a key that moves the cursor of the pane with the focus.
func (m model) move(a action) model {
	s, areas := m.top(), m.areas()
	if areas.small {
		return m
	}
	if s.focus == feedPane {
		s.feed = s.feed.move(a, areas.feed.h-1)
		return m.withTop(s)
	}
	n, h := m.upperSize(areas)
	if s.kind == controllerScreen {
		s.list = s.list.pan(step(a, n, h), n, h)
		return m.withTop(s)
	}
	s.list = s.list.move(a, n, h)
	s.picked = m.rowID(s.list.cursor)
	if a == toTop {
		s.picked = "" // whichever row is there
	}
	return m.withTop(s)
}

// open shows what is behind the line under the cursor.
func (m model) open() model {
	s, a := m.top(), m.areas()
	if a.small {
		return m
	}
	if s.focus == feedPane {
		e, ok := s.feed.current(a.feed.h - 1)
		if !ok || e.record.Event == nil {
			return m
		}
		return m.openItem(describe(e.record))
	}
	n, h := m.upperSize(a)
	i := s.list.within(n, h).cursor
	switch {
	case i >= n:
	case s.kind == queuesScreen:
		return m.openController(m.rows[i].controller)
	default:
		if o := m.details(a.upper.w - detailMargin)[i].object; o != nil {
			return m.openObject(*o)
		}
	}
	return m
}

// openItem shows the object of a line of the feed, or else its controller.
func (m model) openItem(i item) model {
	s := m.top()
	switch {
	case i.object != nil:
		if s.kind == objectScreen && s.object.Same(*i.object) {
			return m
		}
		return m.openObject(*i.object)
	case s.kind == controllerScreen && s.controller == i.who || i.who == bootSteps:
		return m
	}
	return m.openController(i.who)
}
