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
	inspector           observe.Inspector // nil = objects cannot be shown
	gates               control.Gates     // nil = no hand can be laid on controllers
	purpose             func(string) string
	warn                func() []string
	ephemeral, attached bool
	zone                *time.Location

	// The terminal.
	theme         *theme
	width, height int

	// What was pulled.
	now        time.Time // of the latest tick
	snapshot   observe.Snapshot
	known      bool // there has been a snapshot
	pulling    bool
	inspecting bool
	asked      time.Time // when the pull under way began
	retry      time.Time // no pull before
	lost       string    // why the last pull failed
	warnings   []string
	read       int   // of the warnings
	held       *held // of the controller that keys are for; nil unless it is paused

	// What is shown of it.
	rows     []row    // in order, filtered
	order    []string // of all rows
	tally    tally    // of all rows
	arranged time.Time
	sort     sorting
	hideIdle bool
	all      bool // also what only reads
	frozen   bool
	screens  []screen // what esc goes back through; the last is shown

	// What the next key is for.
	asking  bool    // whether to stop
	typing  bool    // a filter
	intent  *intent // what x asks; nil = nothing
	overlay overlay
	page    list   // of the overlay
	said    string // why the last key did nothing
	clicked string // what a second click opens

	// What is done to controllers.
	doing    string    // to one of them now; empty = nothing
	stepping bool      // a step waits, or is under way
	stepped  *stepSeen // the last one; nil if there was none

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
	kind       screenKind
	controller string
	purpose    string
	object     observe.Object
	found      *observe.Inspection // nil before the first answer
	notFound   string              // why there is none, or not all
	foundAt    time.Time
	stale      bool // something happened to the object since
	yaml       bool
	manifest   []line // the object's YAML

	list   list   // of the upper pane
	picked string // ID of the row that the list's cursor is to follow
	filter string // of the upper pane
	feed   feed
	focus  pane
	share  int // of the upper pane, in percent
}

// maxScreens bounds what esc goes back through, and with it the memory.
const maxScreens = 12

// Init asks for the background and begins to pull.
func (m model) Init() tea.Cmd {
	return tea.Batch(tea.RequestBackgroundColor, m.pull(m.wanted()), tick())
}

func (m model) newScreen(k screenKind) screen {
	return screen{kind: k, share: 60, feed: feed{follow: true}}
}

// top is the screen that is shown.
func (m model) top() screen { return m.screens[len(m.screens)-1] }

// withTop replaces the screen that is shown.
func (m model) withTop(s screen) model {
	m.screens = slices.Clone(m.screens)
	m.screens[len(m.screens)-1] = s
	return m
}

func (m model) withTheme(t *theme) model {
	m.theme = t
	return m
}

// push shows a screen; esc goes back to the one before.
func (m model) push(s screen) model {
	m.screens = append(slices.Clone(m.screens), s)
	if len(m.screens) > maxScreens {
		m.screens = slices.Delete(m.screens, 1, 2)
	}
	return m
}

// openController shows what is known of a controller.
func (m model) openController(name string) model {
	if name == "" {
		m.said = "nothing tells which controller this belongs to"
		return m
	}
	s := m.newScreen(controllerScreen)
	s.controller, s.focus = name, feedPane
	if m.purpose != nil {
		s.purpose = clean(m.purpose(name))
	}
	s.feed.stream, m = m.newStream(s)
	return m.push(s)
}

// openObject shows an object and what happened to it.
func (m model) openObject(o observe.Object) model {
	s := m.newScreen(objectScreen)
	s.object, s.stale = o, true
	s.feed.stream, m = m.newStream(s)
	return m.push(s)
}
