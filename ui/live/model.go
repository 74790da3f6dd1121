package live

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// model is all that the view knows. It is a value: Update returns a changed
// copy, and what its slices hold is never changed in place.
type model struct {
	// What it was given.
	ctx                 context.Context // of what commands ask the source
	source              observe.Source
	inspector           observe.Inspector     // nil = objects cannot be shown
	interventions       control.Interventions // nil = no hand can be laid on controllers
	purpose             func(string) string
	warn                func() []string
	ephemeral, attached bool
	zone                *time.Location

	// The terminal.
	theme         *theme
	width, height int

	// What was pulled.
	now          time.Time // of the latest tick
	snapshot     observe.Snapshot
	hasSnapshot  bool // there has been a snapshot
	pulling      bool
	inspecting   bool
	pullStarted  time.Time // when the pull under way began
	retryAt      time.Time // no pull before
	pullError    string    // why the last pull failed
	warnings     []string
	warningsRead int         // of the warnings
	held         *heldWrites // of the controller that keys are for; nil unless it is paused

	// What is shown of it.
	rows       []row     // in order, filtered
	order      []string  // of all rows
	totals     rowTotals // of all rows
	arrangedAt time.Time
	sort       sortOrder
	hideIdle   bool
	showAll    bool // also what only reads
	frozen     bool
	screens    []screen // what esc goes back through; the last is shown

	// What the next key is for.
	askingQuit   bool          // whether to stop
	typingFilter bool          // a filter
	confirming   *confirmation // what x asks; nil = nothing
	overlay      overlay
	overlayView  viewport // of the overlay
	message      string   // why the last key did nothing
	clicked      string   // what a second click opens

	// What is done to controllers.
	inProgress string       // to one of them now; empty = nothing
	stepping   bool         // a step waits, or is under way
	stepped    *steppedView // the last one; nil if there was none

	streams int // IDs given
	leave   Leave
}

// overlay covers the screen until it is left.
type overlay int

const (
	noOverlay overlay = iota
	helpOverlay
	warningsOverlay
	stepOverlay
)

// pane is a half of the screen.
type pane int

const (
	upperPane pane = iota
	feedPane
)

type screenKind int

const (
	queuesScreen screenKind = iota
	controllerScreen
	objectScreen
)

// screen is what fills the terminal: the queues, or what is known of a
// controller or an object, and below it the feed of what concerns it.
type screen struct {
	kind         screenKind
	controller   string
	purpose      string
	object       observe.Object
	inspection   *observe.Inspection // nil before the first answer
	inspectError string              // why there is none, or not all
	inspectedAt  time.Time
	stale        bool // something happened to the object since
	yaml         bool
	manifest     []line // the object's YAML

	view       viewport // of the upper pane
	pickedRow  string   // ID of the row that the list's cursor is to follow
	filter     string   // of the upper pane
	feed       feed
	focus      pane
	upperShare int // of the upper pane, in percent
}

// maxScreens bounds what esc goes back through, and with it the memory.
const maxScreens = 12

// Init asks for the background and begins to pull.
func (m model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.pullCmd(m.neededPull()), nextTick())
}

func (m model) newScreen(k screenKind) screen {
	return screen{kind: k, upperShare: 60, feed: feed{following: true}}
}

// currentScreen is the screen that is shown.
func (m model) currentScreen() screen { return m.screens[len(m.screens)-1] }

// withCurrentScreen replaces the screen that is shown.
func (m model) withCurrentScreen(s screen) model {
	m.screens = slices.Clone(m.screens)
	m.screens[len(m.screens)-1] = s
	return m
}

func (m model) withTheme(t *theme) model {
	m.theme = t
	return m
}

// pushScreen shows a screen; esc goes back to the one before.
func (m model) pushScreen(s screen) model {
	m.screens = append(slices.Clone(m.screens), s)
	if len(m.screens) > maxScreens {
		m.screens = slices.Delete(m.screens, 1, 2)
	}
	return m
}

// openController shows what is known of a controller.
func (m model) openController(name string) model {
	if name == "" {
		m.message = "nothing tells which controller this belongs to"
		return m
	}
	s := m.newScreen(controllerScreen)
	s.controller, s.focus = name, feedPane
	if m.purpose != nil {
		s.purpose = sanitize(m.purpose(name))
	}
	s.feed.stream, m = m.newStream(s)
	return m.pushScreen(s)
}

// openObject shows an object and what happened to it.
func (m model) openObject(o observe.Object) model {
	s := m.newScreen(objectScreen)
	s.object, s.stale = o, true
	s.feed.stream, m = m.newStream(s)
	return m.pushScreen(s)
}
