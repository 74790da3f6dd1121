package live

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// do carries out what a key asks for.
func (m model) do(a action) (model, tea.Cmd) {
	if a == quit {
		return m.quit()
	}
	if m.overlay != noOverlay && (m.overlay != stepOverlay || a != stepOnce) {
		return m.inOverlay(a), nil
	}
	switch a {
	case pauseResume, stepOnce, stopStart:
		return m.handOn(a)
	case showStep:
		if m.stepped == nil {
			m.said = "no write has been let through from here yet"
			break
		}
		m.overlay, m.page = stepOverlay, list{}
	case moveUp, moveDown, halfUp, halfDown, pageUp, pageDown, toTop, toEnd:
		return m.move(a), nil
	case open:
		return m.open(), nil
	case back:
		return m.back(), nil
	case help:
		m.overlay, m.page = helpOverlay, list{}
	case showWarnings:
		m.overlay, m.page, m.read = warningsOverlay, list{}, len(m.warnings)
	case freeze:
		m.frozen = !m.frozen
	case toggleAll:
		m.all = !m.all
		m = m.restart()
	case sortLeft, sortRight, sortReverse, toggleIdle:
		m = m.sorted(a)
	default:
		m = m.changeTop(a)
	}
	return m, nil
}

// changeTop changes how the screen that is shown is shown.
func (m model) changeTop(a action) model {
	s := m.top()
	switch a {
	case switchPane:
		s.focus = upperPane + feedPane - s.focus
	case growUpper:
		s.share = min(s.share+10, 90)
	case growFeed:
		s.share = max(min(s.share, m.areas().share())-10, 10) // it may have less than its share
	case filter:
		m.typing = true
		if s.kind != queuesScreen {
			s.focus = feedPane // what is above is not filtered
		}
	case toggleFollow:
		s.feed = s.feed.toggleFollow(m.areas().feed.h - 1)
	case toggleYAML:
		s.yaml = !s.yaml
	}
	return m.withTop(s)
}

// quit leaves, or asks what that means.
func (m model) quit() (model, tea.Cmd) {
	if m.attached || m.ephemeral {
		m.leave = m.atOnce()
		return m, tea.Quit
	}
	m.asking, m.overlay = true, noOverlay
	return m, nil
}

// answered takes the answer to the question of quit.
func (m model) answered(key string) (model, tea.Cmd) {
	switch key {
	case "s":
		m.leave = Stop
		return m, tea.Quit
	case "l":
		m.leave = KeepRunning
		return m, tea.Quit
	case "esc", "q":
		m.asking = false
	}
	return m, nil
}

func (m model) inOverlay(a action) model {
	switch a {
	case back, help, showWarnings, showStep, open:
		m.overlay = noOverlay
	default:
		lines := len(m.overlayLines(m.width))
		m.page = m.page.pan(step(a, lines, m.overlayHeight()), lines, m.overlayHeight())
	}
	return m
}

// edited takes a key for the filter.
func (m model) edited(msg tea.KeyPressMsg) model {
	switch msg.String() {
	case "enter":
		m.typing = false
	case "esc":
		m.typing = false
		return m.setFilter("")
	case "ctrl+u":
		return m.setFilter("")
	case "backspace":
		if r := []rune(m.filter()); len(r) > 0 {
			return m.setFilter(string(r[:len(r)-1]))
		}
		m.typing = false
	default:
		return m.typed(visible(msg.Text))
	}
	return m
}

func (m model) typed(s string) model { return m.setFilter(m.filter() + s) }

// filter is that of the pane that has the focus.
func (m model) filter() string {
	s := m.top()
	if s.focus == feedPane {
		return s.feed.filter
	}
	return s.filter
}

func (m model) setFilter(f string) model {
	s := m.top()
	if s.focus == feedPane {
		s.feed.filter = f
		return m.withTop(s)
	}
	s.filter = f
	return m.withTop(s).arrange(false)
}

// back drops the filter, the pick, or the screen.
func (m model) back() model {
	s := m.top()
	switch {
	case m.filter() != "":
		return m.setFilter("")
	case len(m.screens) > 1:
		m.screens = slices.Clone(m.screens[:len(m.screens)-1])
		return m
	}
	s.picked, s.list = "", list{}
	return m.withTop(s)
}

// sorted changes what the table shows, and in which order.
func (m model) sorted(a action) model {
	if !onQueues(m) {
		return m
	}
	ids := []columnID{byNone}
	for _, c := range m.placedColumns() {
		if c.compare != nil {
			ids = append(ids, c.id)
		}
	}
	at := max(0, slices.Index(ids, m.sort.column))
	switch a {
	case sortLeft:
		m.sort = sorting{column: ids[(at+len(ids)-1)%len(ids)]}
	case sortRight:
		m.sort = sorting{column: ids[(at+1)%len(ids)]}
	case sortReverse:
		m.sort.reversed = !m.sort.reversed
	case toggleIdle:
		m.hideIdle = !m.hideIdle
	}
	return m.arrange(true)
}
