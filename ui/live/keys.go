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
	action action
	keys   []string // as bubbletea names them
	does   string   // for the help
	hint   string   // for the bottom line; empty = none
	on     func(m model) bool
}

// section groups bindings in the help.
type section struct {
	title    string
	bindings []binding
}

func onQueues(m model) bool     { return m.top().kind == queuesScreen }
func onPage(m model) bool       { return !onQueues(m) }
func onObject(m model) bool     { return m.top().kind == objectScreen && m.inspector != nil }
func canOpen(m model) bool      { return inFeed(m) || m.top().kind != controllerScreen }
func inFeed(m model) bool       { return m.top().focus == feedPane }
func withWarnings(m model) bool { return len(m.warnings) > 0 }
func canHand(m model) bool      { return m.gates != nil && m.top().kind != objectScreen }
func canStep(m model) bool      { return canHand(m) && m.stateOf(m.selected()) == statePaused }
func withStep(m model) bool     { return m.stepped != nil }

func sections() []section {
	return []section{
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
			{showWarnings, []string{"w"}, "all warnings", "warnings", withWarnings},
		}},
		{"Queues", []binding{
			{sortLeft, []string{"<"}, "sort by the column to the left", "", nil},
			{sortRight, []string{">"}, "sort by the column to the right", "sort", onQueues},
			{sortReverse, []string{"r", "S"}, "reverse the order", "", nil},
			{toggleIdle, []string{"i"}, "hide what is idle, or not", "hide idle", onQueues},
		}},
		{"Controllers", []binding{
			{pauseResume, []string{"p"}, "hold what it writes, or let all go", "pause", canHand},
			{stepOnce, []string{"s"}, "let the next held write through", "step", canStep},
			{showStep, []string{"d"}, "what the last step has changed", "diff", withStep},
			{stopStart, []string{"x"}, "end it, or begin it anew", "stop", canHand},
		}},
		{"Leave", []binding{
			{quit, []string{"q"}, "leave the view", "quit", nil},
			{stopNow, []string{"ctrl+c"}, "stop at once; if attached, only leave", "", nil},
			{help, []string{"?"}, "this help", "help", nil},
		}},
	}
}

// bound is what a key does.
func bound(key string) action {
	for _, s := range sections() {
		for _, b := range s.bindings {
			if slices.Contains(b.keys, key) {
				return b.action
			}
		}
	}
	return noAction
}

// key answers a key press: for the question, the filter, or the screen.
func (m model) key(msg tea.KeyPressMsg) (model, tea.Cmd) {
	m.said, m.clicked = "", ""
	key := msg.String()
	switch {
	case bound(key) == stopNow:
		m.leave = m.atOnce()
		return m, tea.Quit
	case m.asking:
		return m.answered(key)
	case m.intent != nil:
		return m.intended(key)
	case m.typing:
		return m.edited(msg), nil
	}
	return m.do(bound(key))
}
