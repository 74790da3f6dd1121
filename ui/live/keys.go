package live

import (
	"slices"

	tea "charm.land/bubbletea/v2"
)

// action is what a key does.
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
	toggleAll
	toggleFollow
	toggleIdle
	sortLeft
	sortRight
	sortReverse
	toggleYAML
	freeze
	showWarnings
	pauseResume
	stepOnce
	showStep
	stopStart
	help
	quit
	stopNow
)

// binding is a row of the table of keys, from which come what a key does, the
// help and the hints at the bottom.
type binding struct {
	action      action
	keys        []string // as bubbletea names them
	description string   // for the help
	hint        string   // for the bottom line; empty = none
	enabled     func(m model) bool
}

// keySection groups bindings in the help.
type keySection struct {
	title    string
	bindings []binding
}

func onQueues(m model) bool    { return m.currentScreen().kind == queuesScreen }
func onPage(m model) bool      { return !onQueues(m) }
func onObject(m model) bool    { return m.currentScreen().kind == objectScreen && m.inspector != nil }
func canOpen(m model) bool     { return inFeed(m) || m.currentScreen().kind != controllerScreen }
func inFeed(m model) bool      { return m.currentScreen().focus == feedPane }
func hasWarnings(m model) bool { return len(m.warnings) > 0 }
func canIntervene(m model) bool {
	return m.interventions != nil && m.currentScreen().kind != objectScreen
}
func canStep(m model) bool {
	return canIntervene(m) && m.stateOf(m.selectedController()) == statePaused
}
func hasStepped(m model) bool { return m.stepped != nil }

func keySections() []keySection {
	return []keySection{
		{"Move", []binding{
			{moveDown, []string{"j", "down"}, "one line down", "", nil},
			{moveUp, []string{"k", "up"}, "one line up", "", nil},
			{halfDown, []string{"ctrl+d"}, "half a page down", "", nil},
			{halfUp, []string{"ctrl+u"}, "half a page up", "", nil},
			{pageDown, []string{"ctrl+f", "pgdown"}, "a page down", "", nil},
			{pageUp, []string{"ctrl+b", "pgup"}, "a page up", "", nil},
			{toTop, []string{"g", "home"}, "to the top", "", nil},
			{toEnd, []string{"G", "end"}, "to the end; in the activity: follow it", "", nil},
			{open, []string{"enter"}, "open the controller or the object", "open", canOpen},
			{back, []string{"esc"}, "drop the filter, then go back", "back", onPage},
			{switchPane, []string{"tab"}, "between the upper pane and the activity", "switch pane", nil},
			{growUpper, []string{"+", "="}, "a larger upper pane", "", nil},
			{growFeed, []string{"-"}, "a larger activity", "", nil},
		}},
		{"Look", []binding{
			{filter, []string{"/"}, "show only lines with these words", "filter", nil},
			{freeze, []string{"space"}, "hold the screen still, and go on", "hold", nil},
			{toggleFollow, []string{"f"}, "follow the activity, or not", "follow", inFeed},
			{toggleAll, []string{"a"}, "all activity: reads and resyncs, too", "all", inFeed},
			{toggleYAML, []string{"y"}, "an object's YAML, or not", "YAML", onObject},
			{showWarnings, []string{"w"}, "all warnings", "warnings", hasWarnings},
		}},
		{"Queues", []binding{
			{sortLeft, []string{"<"}, "sort by the column to the left", "", nil},
			{sortRight, []string{">"}, "sort by the column to the right", "sort", onQueues},
			{sortReverse, []string{"r", "S"}, "reverse the order", "", nil},
			{toggleIdle, []string{"i"}, "hide what is idle, or not", "hide idle", onQueues},
		}},
		{"Controllers", []binding{
			{pauseResume, []string{"p"}, "hold what it writes, or let all go", "pause", canIntervene},
			{stepOnce, []string{"s"}, "let the next held write through", "step", canStep},
			{showStep, []string{"d"}, "what the last step has changed", "diff", hasStepped},
			{stopStart, []string{"x"}, "end it, or begin it anew", "stop", canIntervene},
		}},
		{"Leave", []binding{
			{quit, []string{"q"}, "leave the view", "quit", nil},
			{stopNow, []string{"ctrl+c"}, "stop at once; if attached, only leave", "", nil},
			{help, []string{"?"}, "this help", "help", nil},
		}},
	}
}

// actionFor is what a key does.
func actionFor(key string) action {
	for _, s := range keySections() {
		for _, b := range s.bindings {
			if slices.Contains(b.keys, key) {
				return b.action
			}
		}
	}
	return noAction
}

// handleKey answers a key press: for the question, the filter, or the screen.
func (m model) handleKey(msg tea.KeyPressMsg) (model, tea.Cmd) {
	m.message, m.clicked = "", ""
	key := msg.String()
	switch {
	case actionFor(key) == stopNow:
		m.leave = m.leaveUnasked()
		return m, tea.Quit
	case m.askingQuit:
		return m.answerQuit(key)
	case m.confirming != nil:
		return m.answerConfirmation(key)
	case m.typingFilter:
		return m.editFilter(msg), nil
	}
	return m.performAction(actionFor(key))
}
