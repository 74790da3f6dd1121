package live

import (
	"strings"

	tea "charm.land/bubbletea/v2"
)

// View draws the screen. It is a function of the model, so a model that has not
// changed gives the same content, of which the terminal is sent nothing.
func (m model) View() tea.View {
	v := tea.NewView(strings.Join(m.draw(), "\n"))
	v.AltScreen = true
	v.MouseMode = tea.MouseModeCellMotion
	v.WindowTitle = "ctrlplane " + clean(m.snapshot.Process.Name)
	return v
}

// draw returns the lines of the screen.
func (m model) draw() []string {
	if m.width <= 0 || m.height <= 0 {
		return nil // the size is not known yet
	}
	a := m.areas()
	if a.small {
		return []string{shorten("terminal too small", m.width, m.theme.tail())}
	}
	if m.overlay != noOverlay {
		return m.overlayScreen()
	}
	lines := pad(m.headerLines(a.header.w, a.header.h), a.header.h)
	lines = append(lines, pad(m.upperLines(a.upper.w, a.upper.h), a.upper.h)...)
	lines = append(lines, pad(m.feedLines(a.feed.w, a.feed.h), a.feed.h)...)
	if a.notice.h > 0 {
		lines = append(lines, m.theme.render(m.notice(), m.width, false))
	}
	return append(lines, m.theme.render(m.footer(m.width), m.width, false))
}

// upperLines draws the upper pane.
func (m model) upperLines(w, h int) []string {
	if m.top().kind == queuesScreen {
		return m.tableLines(w, h)
	}
	return m.detailLines(w, h)
}

// title is the first line of a pane. The mark shows which pane has the focus.
func (m model) title(name, state string, focused bool, w int) string {
	mark, st := " ", strong
	if focused {
		mark, st = m.theme.either("▸", ">"), lit
	}
	head := line{{mark + name + " ", st}}
	var tail line
	if state != "" {
		tail = line{{" " + state + " ", faint}}
	}
	rule := m.theme.either("─", "-")
	room := w - head.width()
	tail = tail.cut(max(0, room-2), m.theme.tail())
	head = append(head, span{strings.Repeat(rule, max(0, room-tail.width()-1)), faint})
	return m.theme.render(append(append(head, tail...), span{rule, faint}), w, false)
}

func (m model) cursorMark(selected bool) line {
	if selected {
		return text(m.theme.either("▌", ">"), lit)
	}
	return text(" ", plain)
}

// pad makes lines exactly h.
func pad(lines []string, h int) []string {
	if len(lines) > h {
		return lines[:h]
	}
	return append(lines, make([]string, h-len(lines))...)
}
