package live

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// View draws the screen. It is a function of the model: an unchanged model gives
// the same content, of which bubbletea sends nothing to the terminal.
func (m model) View() (v tea.View) {
	defer m.catchPanic(func() { v = tea.NewView("") })
	v = tea.NewView(strings.Join(m.drawScreen(), "\n"))
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "ctrlplane " + words.OneLine(m.snapshot.Process.Name)
	return v
}

// drawScreen returns the lines of the screen.
func (m model) drawScreen() []string {
	if m.width <= 0 || m.height <= 0 {
		return nil // the size is unknown yet
	}
	a := m.screenAreas()
	if a.tooSmall {
		return m.tooSmallLines()
	}
	if m.overlay != noOverlay {
		return m.overlayScreen()
	}
	lines := padLines(m.headerLines(a.header.w, a.header.h), a.header.h)
	lines = append(lines, padLines(m.upperLines(a.upper.w, a.upper.h), a.upper.h)...)
	lines = append(lines, padLines(m.feedLines(a.feed.w, a.feed.h), a.feed.h)...)
	for _, l := range m.noticeLines() {
		lines = append(lines, m.theme.renderLine(l, m.width, false))
	}
	return append(lines, m.theme.renderLine(m.footerLine(m.width), m.width, false))
}

// tooSmallLines says which size the terminal needs, as far as that has room. An open question
// comes first: keys answer it at every size.
func (m model) tooSmallLines() []string {
	if l := m.questionLine(max(m.width, 2*minWidth)); l != nil {
		parts := l.wrap(m.width, m.height)
		if parts[len(parts)-1].width() > m.width { // the answers are at the end
			parts = m.questionLine(m.width).wrap(m.width, m.height)
		}
		var lines []string
		for _, part := range parts {
			lines = append(lines, m.theme.renderLine(part, m.width, false))
		}
		return lines
	}
	lines := []string{"terminal too small", fmt.Sprintf("%dx%d, needs %dx%d", m.width, m.height, minWidth, minHeight)}
	for i, l := range lines {
		lines[i] = truncate(l, m.width, m.theme.ellipsis())
	}
	return lines[:min(m.height, len(lines))]
}

// upperLines draws the upper pane.
func (m model) upperLines(w, h int) []string {
	if m.currentScreen().kind == queuesScreen {
		return m.tableLines(w, h)
	}
	if onClients(m) {
		return m.clientLines(w, h)
	}
	if onBrowser(m) {
		return m.browserLines(w, h)
	}
	return m.detailLines(w, h)
}

// titleLine draws the first line of a pane. A mark shows which pane has the focus.
func (m model) titleLine(name, state string, focused bool, w int) string {
	return m.styledTitleLine(name, state, faint, focused, w)
}

// titleMargin is how many columns of a title line neither its name nor its state can have.
const titleMargin = 6

func (m model) styledTitleLine(name, state string, stateStyle style, focused bool, w int) string {
	mark, st := " ", strong
	if focused {
		mark, st = m.theme.pickGlyph("▸", ">"), highlight
	}
	head := line{{mark + name + " ", st}}
	var tail line
	if state != "" {
		tail = line{{" " + state + " ", stateStyle}}
	}
	rule := m.theme.pickGlyph("─", "-")
	room := w - head.width()
	tail = tail.truncate(max(0, room-2), m.theme.ellipsis())
	head = append(head, span{strings.Repeat(rule, max(0, room-tail.width()-1)), faint})
	return m.theme.renderLine(append(append(head, tail...), span{rule, faint}), w, false)
}

func (m model) cursorMark(selected bool) line {
	if selected {
		return styledLine(m.theme.pickGlyph("▌", ">"), highlight)
	}
	return styledLine(" ", plain)
}

// padLines returns exactly h lines.
func padLines(lines []string, h int) []string {
	if len(lines) > h {
		return lines[:h]
	}
	return append(lines, make([]string, h-len(lines))...)
}
