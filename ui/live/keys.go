package live

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// action is an action bound to a key.
type action int

const (
	noAction action = iota
	moveUp
	moveDown
	halfUp
	halfDown
	pageUp
	pageDown
	toTop
	toEnd
	open
	back
	switchPane
	growUpper
	growFeed
	filter
	nextMatch
	previousMatch
	toggleAll
	toggleFollow
	toggleIdle
	toggleInternal
	sortLeft
	sortRight
	sortReverse
	toggleYAML
	showClients
	toggleOutput
	freeze
	showWarnings
	pauseResume
	stepOnce
	showStep
	stopStart
	showTrace
	showWhy
	browse
	copySelected
	slower
	faster
	openPage
	timeBack
	timeForward
	timeBackLong
	timeForwardLong
	timeStart
	timeNow
	timePlay
	nextRecord
	previousRecord
	timeSlower
	timeFaster
	timeGo
	help
	quit
	stopNow
)

// binding binds keys to an action. The help and the hints in the footer come from
// the bindings, too.
type binding struct {
	action      action
	keys        []string // bubbletea's names
	description string   // shown in the help; empty = not listed there
	hint        string   // shown in the footer; empty = none
	enabled     func(m model) bool
}

// keySection groups bindings in the help.
type keySection struct {
	title    string
	bindings []binding
}

func onClients(m model) bool   { return m.currentScreen().kind == clientsScreen }
func hasClients(m model) bool  { return len(m.snapshot.Clients) > 0 && onQueues(m) }
func onBrowser(m model) bool   { return m.currentScreen().kind == browserScreen }
func canBrowse(m model) bool   { return m.browser != nil }
func hasStory(m model) bool    { return m.selectedObject() != nil || m.selectedKey() != nil }
func onQueues(m model) bool    { return m.currentScreen().kind == queuesScreen }
func onPage(m model) bool      { return !onQueues(m) }
func inFeed(m model) bool      { return m.currentScreen().focus == feedPane }
func inActivity(m model) bool  { return inFeed(m) && !m.showsOutput() }
func isSearching(m model) bool { return m.showsText() && m.activeFilter() != "" }
func hasWarnings(m model) bool { return len(m.warnings) > 0 }
func canGoBack(m model) bool   { return onPage(m) || m.activeFilter() != "" }

// follows reports whether the lower pane shows new lines as they come.
func follows(m model) bool {
	if m.showsOutput() {
		return m.output.bottom == 0
	}
	return m.currentScreen().feed.following
}

// showsYAML reports whether the page of the selected object shows its YAML.
func showsYAML(m model) bool {
	s, o := m.currentScreen(), m.selectedObject()
	return s.kind == objectScreen && s.yaml && o != nil && s.object == *o
}

// canOpen reports whether the line under the cursor can be opened.
func canOpen(m model) bool {
	switch s := m.currentScreen(); {
	case s.focus == feedPane:
		_, ok := m.selectedEntry()
		return ok
	case s.kind.isPage():
		return s.kind == objectScreen && m.detailObject() != nil
	}
	n, _ := m.upperSize(m.screenAreas())
	return n > 0
}

// canIntervene reports whether keys act on a controller or client.
func canIntervene(m model) bool {
	name := m.targetController()
	return m.interventionsIn(name) != nil && m.stateOf(name) != ""
}

func canStop(m model) bool {
	name := m.targetController()
	_, isClient := m.findClient(name)
	return canIntervene(m) && !isClient && m.verbOfStop(name) != ""
}
func canStep(m model) bool {
	return canIntervene(m) && m.stateOf(m.targetController()) == statePaused
}

func canShowStep(m model) bool { return m.stepOf(m.targetController()) != nil }

// presentSections are the keys that are bound while the present is shown.
func presentSections() []keySection {
	return []keySection{
		{"Move", []binding{
			{moveDown, []string{"j", "down"}, "move down one line", "", nil},
			{moveUp, []string{"k", "up"}, "move up one line", "", nil},
			{halfDown, []string{"ctrl+d"}, "move down half a page", "", nil},
			{halfUp, []string{"ctrl+u"}, "move up half a page", "", nil},
			{pageDown, []string{"ctrl+f", "pgdown"}, "move down one page", "", nil},
			{pageUp, []string{"ctrl+b", "pgup"}, "move up one page", "", nil},
			{toTop, []string{"g", "home"}, "go to the top", "", nil},
			{toEnd, []string{"G", "end"}, "go to the end; in Activity: follow it", "", nil},
			{open, []string{"enter"}, "open it; in Activity: the line in full", "open", canOpen},
			{back, []string{"esc"}, "clear the filter or search, or go back", "back", canGoBack},
			{switchPane, []string{"tab"}, "switch between upper pane and Activity", "pane", nil},
			{growUpper, []string{"+", "="}, "enlarge the upper pane", "", nil},
			{growFeed, []string{"-"}, "enlarge Activity", "", nil},
		}},
		{"Display", []binding{
			{filter, []string{"/"}, "filter a list by words; search in a text", "filter", nil},
			{nextMatch, []string{"n"}, "in a text: the next line found", "next", isSearching},
			{previousMatch, []string{"N"}, "in a text: the previous line found", "previous", isSearching},
			{freeze, []string{"space"}, "freeze the screen, or resume updates", "freeze", nil},
			{toggleFollow, []string{"f"}, "follow new activity, or stop following", "follow", inFeed},
			{toggleAll, []string{"a"}, "show all or only notable activity", "all", inActivity},
			{showClients, []string{"c"}, "show the clients, such as kubectl", "clients", hasClients},
			{copySelected, []string{"y"}, "copy what is selected (OSC 52)", "", nil},
			{toggleOutput, []string{"o"}, "show the operator's output, or Activity", "output", hasOutput},
			{showWarnings, []string{"W"}, "show the warnings of ctrlplane itself", "warnings", hasWarnings},
		}},
		{"Objects", []binding{
			{browse, []string{":"}, "list objects of a kind, with health", "objects", canBrowse},
			{showTrace, []string{"t"}, "trace: what the object set off", "trace", hasStory},
			{showWhy, []string{"w"}, "why it exists; again: change, deletion", "why", hasStory},
			{toggleYAML, []string{"e"}, "show or hide the object's YAML", "YAML", hasStory},
		}},
		{"Speed of everything", []binding{
			{slower, []string{"["}, "slower: 1/2, 1/5, 1/10, step by step (s)", "slower", canGoSlower},
			{faster, []string{"]"}, "faster", "faster", canGoFaster},
			{stepOnce, []string{"s"}, "", "next key", canStepKey}, // described below
		}},
		{"Time", []binding{
			{timeBack, []string{","}, "go back in time, to what was kept", "past", canLookBack},
			{timeForward, []string{"."}, "forward again, once you are there", "", nil},
		}},
		{"Controllers pane", []binding{
			{sortLeft, []string{"<"}, "sort by the previous column", "", nil},
			{sortRight, []string{">"}, "sort by the next column", "sort", onQueues},
			{sortReverse, []string{"r", "S"}, "reverse the sort order", "", nil},
			{toggleIdle, []string{"i"}, "hide or show idle queues", "hide idle", onQueues},
			{toggleInternal, []string{"I"}, "show or hide internal queues", "internal", onQueues},
		}},
		{"Controllers and clients", []binding{
			{pauseResume, []string{"p"}, "pause (hold its writes), or resume", "pause", canIntervene},
			{stepOnce, []string{"s"}, "release one held write or waiting key", "step", canStep},
			{showStep, []string{"d"}, "show the diff of the last step", "diff", canShowStep},
			{stopStart, []string{"x"}, "stop, start, or remove an ended operator", "stop", canStop},
		}},
		{"Projector", []binding{
			{openPage, []string{"P"}, "serve a page for a projector: its link", "", hasPage},
		}},
		{"Quit", []binding{
			{quit, []string{"q"}, "quit the view", "quit", nil},
			{stopNow, []string{"ctrl+c"}, "stop the control plane (in top: quit)", "", nil},
			{help, []string{"?"}, "show this help", "help", nil},
		}},
	}
}

// pastSection are the keys that only the past has. They take the place of others.
func pastSection() keySection {
	return keySection{"Time", []binding{
		{timePlay, []string{"space"}, "play, or pause", "play", nil},
		{timeBack, []string{","}, "back a second", "back", nil},
		{timeForward, []string{"."}, "forward a second", "forward", nil},
		{nextRecord, []string{"s"}, "to the next line of Activity", "step", nil},
		{timeNow, []string{"end"}, "go to now; of a recording: to its end", "now", nil},
		{previousRecord, []string{"S"}, "to the line of Activity before", "", nil},
		{timeSlower, []string{"["}, "play slower: down to 1/10", "slower", nil},
		{timeFaster, []string{"]"}, "play faster: up to 60", "faster", nil},
		{timeStart, []string{"home"}, "go to the beginning of what was kept", "", nil},
		{timeBackLong, []string{"left"}, "back 10 seconds", "", nil},
		{timeForwardLong, []string{"right"}, "forward 10 seconds", "", nil},
		{timeGo, []string{"@"}, "go to a time that you type", "go to", nil},
	}}
}

// keySections returns the keys that are bound now. In the past, those that change or list
// something are not offered.
func (m model) keySections() []keySection {
	if m.past == nil {
		return presentSections()
	}
	first := pastSection()
	sections := []keySection{first}
	for _, s := range presentSections() {
		kept := keySection{title: s.title}
		for _, b := range s.bindings {
			b.keys = slices.DeleteFunc(slices.Clone(b.keys), func(k string) bool {
				return slices.ContainsFunc(first.bindings, func(f binding) bool { return slices.Contains(f.keys, k) })
			})
			if len(b.keys) > 0 && !onlyPresent(b.action) {
				kept.bindings = append(kept.bindings, b)
			}
		}
		if len(kept.bindings) > 0 {
			sections = append(sections, kept)
		}
	}
	return sections
}

// onlyPresent reports whether an action needs a running control plane.
func onlyPresent(a action) bool {
	switch a {
	case pauseResume, stopStart, showStep, openPage, browse, toggleYAML, toggleOutput:
		return true
	}
	return false
}

// actionFor returns the action bound to a key. One that is not offered says why.
func (m model) actionFor(key string) action {
	if a := actionIn(m.keySections(), key); a != noAction || m.past == nil {
		return a
	}
	return actionIn(presentSections(), key)
}

func actionIn(sections []keySection, key string) action {
	for _, s := range sections {
		for _, b := range s.bindings {
			if slices.Contains(b.keys, key) {
				return b.action
			}
		}
	}
	return noAction
}

// handleKey passes a key press to an open question, an input, or the screen.
func (m model) handleKey(msg tea.KeyPressMsg) (model, tea.Cmd) {
	m.message, m.clicked = "", ""
	key := msg.String()
	switch {
	case m.actionFor(key) == stopNow:
		m.leave = m.leaveUnasked()
		return m, tea.Quit
	case m.reading != 0:
		return m.keyWhileReading(msg), nil
	case m.askingQuit:
		return m.answerQuit(key)
	case m.confirming != nil:
		return m.answerConfirmation(key)
	case m.typing != noInput:
		return m.editInput(msg)
	}
	return m.performAction(m.actionFor(key))
}
