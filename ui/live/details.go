package live

import (
	"github.com/ctrlplane/ctrlplane/observe"
)

// detail is a line of the upper pane of a page.
type detail struct {
	line   line
	object *observe.Object // what enter opens
}

// detailMargin is free at the sides of details.
const detailMargin = 2

// labelWidth is how wide the names of details are made.
const labelWidth = 12

// sheet collects details in w columns.
type sheet struct {
	w     int
	lines []detail
}

func (s *sheet) add(l line) { s.lines = append(s.lines, detail{line: l}) }

// field adds a label and words, which are wrapped.
func (s *sheet) field(label, words string) {
	for _, part := range wrap(words, max(s.w-labelWidth, 10)) {
		s.add(line{{left(label, labelWidth, ""), faint}, {part, plain}})
		label = ""
	}
}

// entry adds a line under a label, which only the first of several bears.
func (s *sheet) entry(label string, i int, l line) {
	if i > 0 {
		label = ""
	}
	s.add(append(text(left(label, labelWidth, ""), faint), l...))
}

// details are the lines of the page that is shown.
func (m model) details(w int) []detail {
	sh := &sheet{w: w}
	if s := m.top(); s.kind == controllerScreen {
		m.controllerDetails(sh, s)
	} else {
		m.objectDetails(sh, s)
	}
	return sh.lines
}

// detailLines draws the upper pane of a page.
func (m model) detailLines(w, h int) []string {
	s := m.top()
	focused := s.focus == upperPane
	pick := focused && s.kind == objectScreen // a controller's page is only read
	all := m.details(w - detailMargin)
	l := s.list.within(len(all), h-1)
	state := ""
	if len(all) > h-1 {
		state = count(min(l.top+h-1, len(all))) + " of " + count(len(all))
	}
	name := "Controller " + s.controller
	if s.kind == objectScreen {
		name = clean(s.object.String())
	}
	lines := []string{m.title(shorten(name, w-8, m.theme.tail()), state, focused, w)}
	for i := l.top; i < len(all) && i < l.top+h-1; i++ {
		selected := pick && i == l.cursor
		lines = append(lines, m.theme.render(append(m.cursorMark(selected), all[i].line...), w, selected))
	}
	return lines
}
