package live

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// performAction applies the action of a key.
func (m model) performAction(a action) (model, tea.Cmd) {
	switch a {
	case quit:
		return m.requestQuit()
	case browse:
		m.typing, m.input = kindInput, ""
		return m, nil
	}
	if m.past != nil && m.overlay == noOverlay {
		if next, cmd, done := m.performInPast(a); done {
			return next, cmd
		}
	}
	switch {
	case a == copySelected:
		return m.copySelection()
	case m.overlay == textOverlay && (a == showTrace || a == showWhy):
		return m.tellStory(a)
	case m.overlay == textOverlay && a == toggleYAML && hasStory(m):
		return m.showYAML()
	case m.overlay != noOverlay && (m.overlay != stepOverlay || a != stepOnce):
		return m.performInOverlay(a), nil
	case a == stepOnce && canStepKey(m):
		return m.stepKey()
	}
	return m.performOnScreen(a)
}

// performOnScreen applies an action that no overlay handles.
func (m model) performOnScreen(a action) (model, tea.Cmd) {
	switch a {
	case timeBack:
		return m.lookBack()
	case timeForward:
		m.message = "this is now: , goes back in time"
	case slower, faster:
		return m.changeSpeed(a)
	case pauseResume, stepOnce, stopStart:
		return m.requestIntervention(a)
	case showTrace, showWhy:
		return m.tellStory(a)
	case toggleYAML:
		return m.showYAML()
	case showStep:
		return m.showStep(), nil
	case moveUp, moveDown, halfUp, halfDown, pageUp, pageDown, toTop, toEnd:
		return m.moveCursor(a), nil
	case open:
		return m.openSelected(), nil
	case back:
		return m.goBack(), nil
	case showClients:
		return m.openClients(), nil
	case toggleOutput:
		return m.toggleOutput(), nil
	case openPage:
		return m.servePage()
	case help:
		m = m.openOverlay(helpOverlay)
	case showWarnings:
		m.warningsRead = len(m.warnings)
		m = m.openOverlay(warningsOverlay)
	case freeze:
		m.frozen = !m.frozen
	case toggleAll:
		if m.showsOutput() {
			m.message = "a is for Activity: o shows it"
			break
		}
		m.showAll = !m.showAll
		m = m.restartStreams()
	case sortLeft, sortRight, sortReverse, toggleIdle, toggleInternal:
		m = m.changeSort(a)
	default:
		m = m.updateScreen(a)
	}
	return m, nil
}

// updateScreen applies an action that changes the display of the current screen.
func (m model) updateScreen(a action) model {
	s := m.currentScreen()
	switch a {
	case switchPane:
		s.focus = upperPane + feedPane - s.focus
		s.feed.following = true // a feed that is left is not read any more
	case growUpper:
		s.upperShare = min(s.upperShare+10, 90)
	case growFeed:
		s.upperShare = max(min(s.upperShare, m.screenAreas().upperShare())-10, 10) // a pane may take less than its share
	case filter:
		return m.typeFilter()
	case nextMatch, previousMatch:
		return m.findAgain(a)
	case toggleFollow:
		if m.showsOutput() {
			m.output = m.output.toggleFollow()
			return m
		}
		s.feed = s.feed.toggleFollow(m.screenAreas().feed.h - 1)
	}
	return m.withCurrentScreen(s)
}

// requestQuit quits the view, or asks whether to stop the control plane as well.
func (m model) requestQuit() (model, tea.Cmd) {
	if m.attached || m.output.source != nil { // of no use without the operator
		m.leave = m.leaveUnasked()
		return m, tea.Quit
	}
	m.askingQuit, m.overlay = true, noOverlay
	return m, nil
}

// answerQuit handles a key pressed at the quit question.
func (m model) answerQuit(key string) (model, tea.Cmd) {
	switch strings.ToLower(key) {
	case "s", "y":
		m.leave = Stop
		return m, tea.Quit
	case "l":
		m.leave = KeepRunning
		return m, tea.Quit
	case "n", "esc", "q":
		m.askingQuit = false
	}
	return m, nil
}

func (m model) performInOverlay(a action) model {
	switch a {
	case open:
		if m.overlay == textOverlay {
			return m.openSubject()
		}
		return m.closeOverlay()
	case filter:
		return m.typeFilter()
	case nextMatch, previousMatch:
		return m.findAgain(a)
	case back:
		if m.overlayFind != "" {
			return m.setFilter("")
		}
		return m.closeOverlay()
	case help, showWarnings, showStep:
		return m.toggleOverlay(a)
	default:
		lines := len(m.overlayLines(m.width))
		m.overlayView = m.overlayView.panBy(stepSize(a, lines, m.overlayHeight()), lines, m.overlayHeight())
	}
	return m
}

// typeFilter begins to type a filter of a list, or what to search in a text.
func (m model) typeFilter() model {
	m.typing = filterInput
	if m.showsText() {
		m.findFrom = m.textViewport().cursor
		return m.setFilter("")
	}
	return m
}

// showYAML shows or hides the YAML of the selected object, on its page. That of a key is looked up first.
func (m model) showYAML() (model, tea.Cmd) {
	s := m.currentScreen()
	o := m.selectedObject()
	switch {
	case m.past != nil:
		m.message = m.pastReason("the YAML of objects is not recorded")
	case m.inspector == nil:
		m.message = "this source has no objects"
	case o == nil:
		return m.tellStory(toggleYAML)
	case s.kind == objectScreen && s.object == *o:
		s.yaml = !s.yaml
		s.focus = upperPane
		m.overlay = noOverlay
		m = m.withCurrentScreen(s)
	default:
		m = m.openYAML(*o)
	}
	return m, nil
}

// openYAML opens the page of an object with its YAML.
func (m model) openYAML(o observe.Object) model {
	m.overlay = noOverlay
	m = m.openObject(o)
	s := m.currentScreen()
	s.yaml = true
	return m.withCurrentScreen(s)
}

// activeFilter returns the filter of the focused pane, or what is searched in a text.
func (m model) activeFilter() string {
	s := m.currentScreen()
	if m.overlay != noOverlay {
		return m.overlayFind
	}
	if s.focus == feedPane {
		return s.feed.filter
	}
	return s.filter
}

func (m model) setFilter(f string) model {
	if m.overlay != noOverlay {
		m.overlayFind = f
		return m.find(m.findFrom, 1)
	}
	s := m.currentScreen()
	if s.focus == feedPane {
		s.feed.filter = f
		return m.withCurrentScreen(s)
	}
	s.filter = f
	m = m.withCurrentScreen(m.withoutPick(s))
	switch {
	case s.kind == queuesScreen:
		return m.arrangeRows(false)
	case s.kind.isPage():
		return m.find(m.findFrom, 1)
	}
	return m.followPickedLine(len(m.screens) - 1)
}

// withoutPick returns a list without its picked line if that does not match the filter that the user has chosen.
func (m model) withoutPick(s screen) screen {
	keep := true
	switch s.kind {
	case queuesScreen:
		keep = slices.ContainsFunc(rowsOf(m.snapshot, true), func(r row) bool { return isOfPicked(r, s.pickedRow) && r.matchesFilter(s.filter) })
	case clientsScreen:
		keep = slices.ContainsFunc(m.snapshot.Clients, func(c observe.Client) bool { return words.OneLine(c.Name) == s.pickedRow && matchesClient(c, s.filter) })
	}
	if !keep {
		s.pickedRow, s.view.cursor = "", 0
	}
	return s
}

// goBack clears the filter, or else returns to the previous screen.
func (m model) goBack() model {
	switch {
	case m.activeFilter() != "":
		return m.setFilter("")
	case len(m.screens) > 1:
		m.screens = slices.Clone(m.screens[:len(m.screens)-1])
		return m
	}
	return m
}

// changeSort changes the order of the table, or whether it shows idle queues.
func (m model) changeSort(a action) model {
	if !onQueues(m) {
		return m
	}
	ids := []columnID{sortByActivity}
	for _, c := range m.placedColumns() {
		if c.compare != nil {
			ids = append(ids, c.id)
		}
	}
	at := max(0, slices.Index(ids, m.sort.column))
	switch a {
	case sortLeft:
		m = m.sortBy(sortOrder{column: ids[(at+len(ids)-1)%len(ids)]})
	case sortRight:
		m = m.sortBy(sortOrder{column: ids[(at+1)%len(ids)]})
	case sortReverse:
		m = m.sortBy(sortOrder{column: m.sort.column, reversed: !m.sort.reversed})
	case toggleIdle:
		m.hideIdle = !m.hideIdle
	case toggleInternal:
		m.showInternal = !m.showInternal
	}
	return m.arrangeRows(true)
}

// sortBy sets the order of the table. That by activity has no heading that could show it.
func (m model) sortBy(o sortOrder) model {
	m.sort = o
	switch {
	case o.column != sortByActivity:
	case o.reversed:
		m.message = "order: idle rows first"
	default:
		m.message = "order: failing and busy rows first"
	}
	return m
}
