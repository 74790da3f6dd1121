package live

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// upperSize returns how many lines the upper pane has, and how many of them fit.
func (m model) upperSize(a areas) (lines, h int) {
	if m.currentScreen().kind == queuesScreen {
		return len(m.rows), max(a.upper.h-2, 1)
	}
	if onClients(m) {
		return len(m.listedClients()), max(a.upper.h-2, 1)
	}
	if onBrowser(m) {
		return len(m.browsedItems()), max(a.upper.h-2, 1)
	}
	return len(m.pageDetails(a.upper.w - detailMargin)), max(a.upper.h-1, 1)
}

// rowIDAt returns the ID of a table row, which the cursor then follows; empty on
// other screens.
func (m model) rowIDAt(i int) string {
	if ids := m.listIDs(m.currentScreen()); i < len(ids) {
		return ids[i]
	}
	if m.currentScreen().kind != queuesScreen || i >= len(m.rows) {
		return ""
	}
	return m.rows[i].id()
}

// listIDs returns the IDs of the lines of a list of clients or objects.
func (m model) listIDs(s screen) (ids []string) {
	switch {
	case s.kind == clientsScreen:
		for _, c := range m.clientsOf(s) {
			ids = append(ids, words.OneLine(c.Name))
		}
	case m.past == nil:
		for _, item := range s.browsedItems() {
			ids = append(ids, item.Object.String())
		}
	}
	return ids
}

// followPickedLine moves the cursor of a list of clients or objects to the picked line.
func (m model) followPickedLine(screen int) model {
	m.screens = slices.Clone(m.screens)
	s := &m.screens[screen]
	if i := slices.Index(m.listIDs(*s), s.pickedRow); i >= 0 {
		s.view.cursor = i
	}
	return m
}

// moveCursor moves the cursor of the focused pane.
func (m model) moveCursor(a action) model {
	s, areas := m.currentScreen(), m.screenAreas()
	if areas.tooSmall {
		return m
	}
	if s.focus == feedPane && m.showsOutput() {
		m.output = m.output.scroll(stepSize(a, len(m.output.lines), areas.feed.h-1))
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
		s.pickedRow = "" // stay at the top when the order changes
	}
	return m.withCurrentScreen(s)
}

// openSelected opens the controller or object of the line under the cursor.
func (m model) openSelected() model {
	s, a := m.currentScreen(), m.screenAreas()
	if a.tooSmall {
		return m
	}
	if s.focus == feedPane {
		e, ok := m.selectedEntry()
		switch {
		case ok:
			m = m.openRecord(e.record)
		case m.showsOutput():
			m.message = "lines of the output cannot be opened: o shows Activity, whose lines can"
		}
		return m
	}
	n, h := m.upperSize(a)
	i := s.view.clampToList(n, h).cursor
	switch {
	case i >= n:
	case s.kind == queuesScreen:
		return m.openController(m.rows[i].controller)
	case s.kind == clientsScreen:
		return m.openController(words.OneLine(m.listedClients()[i].Name))
	case s.kind == browserScreen:
		item := m.browsedItems()[i]
		m = m.openObject(item.Object)
		opened := m.currentScreen()
		opened.listed = &item
		return m.withCurrentScreen(opened)
	default:
		if o := m.detailObject(); o != nil {
			return m.openObject(*o)
		}
	}
	return m
}
