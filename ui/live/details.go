package live

import (
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// detail is a line in the upper pane of a controller or object page.
type detail struct {
	line   line
	object *observe.Object // opened by enter
}

// detailMargin is the total horizontal margin of details.
const detailMargin = 2

// labelWidth is the width of the label column.
const labelWidth = 12

// detailBuilder collects details that are w columns wide.
type detailBuilder struct {
	w     int
	lines []detail
}

func (s *detailBuilder) addLine(l line) { s.lines = append(s.lines, detail{line: l}) }

// addField adds a label and text, which it wraps.
func (s *detailBuilder) addField(label, words string) {
	for _, part := range wrapWords(words, max(s.w-labelWidth, 10)) {
		s.addLine(line{{alignLeft(label, labelWidth, ""), faint}, {part, plain}})
		label = ""
	}
}

// addEntry adds line number i of a label. Only the first line shows the label.
func (s *detailBuilder) addEntry(label string, i int, l line) {
	if i > 0 {
		label = ""
	}
	s.addLine(append(styledLine(alignLeft(label, labelWidth, ""), faint), l...))
}

// pageDetails returns the details of the current page.
func (m model) pageDetails(w int) []detail {
	sh := &detailBuilder{w: w}
	if s := m.currentScreen(); s.kind == controllerScreen {
		m.addControllerDetails(sh, s)
	} else {
		m.addObjectDetails(sh, s)
	}
	return sh.lines
}

// detailLines draws the upper pane of a page.
func (m model) detailLines(w, h int) []string {
	s := m.currentScreen()
	focused := s.focus == upperPane
	pick := focused && s.kind == objectScreen // a controller page has no cursor
	all := m.pageDetails(w - detailMargin)
	l := s.view.clampToList(len(all), h-1)
	state := m.visibleLines(l, len(all), h-1)
	if s.filter != "" {
		text, _ := m.shownText()
		state = joinState(findState(text, s.filter, l.cursor), state)
	}
	name := "Controller " + s.controller
	if _, is := m.findClient(s.controller); is {
		name = "Client " + s.controller
	}
	if s.kind == objectScreen {
		name = words.OneLine(s.object.String())
	}
	lines := []string{m.titleLine(truncate(name, w-textWidth(state)-6, m.theme.ellipsis()), state, focused, w)}
	for i := l.top; i < len(all) && i < l.top+h-1; i++ {
		selected := focused && i == l.cursor && (pick || len(all[i].line.matchesOf(s.filter)) > 0)
		lines = append(lines, m.theme.renderLine(append(m.cursorMark(selected), all[i].line.withMatches(s.filter)...), w, selected))
	}
	return lines
}
