package live

import (
	"context"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health"
	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
	"github.com/ctrlplane/ctrlplane/ui"
)

// model is the complete state of the view. It is a value: Update returns a modified
// copy, and the elements of its slices are never modified in place.
type model struct {
	// From the options.
	ctx                 context.Context       // for requests to the source
	source              observe.Source        // of the present; nil if only a recording is shown
	kept                *replay.Buffer        // snapshots of the source; nil = none
	inspector           observe.Inspector     // nil if the source has no objects
	interventions       control.Interventions // nil if the source does not support them
	clientInterventions control.Interventions // the same for those in clients
	speed               control.SpeedControl  // nil if the source does not support it
	browser             Browser               // nil if the source cannot list objects
	purpose             func(string) string
	warn                func() []string
	page                func() (string, error) // nil if there is none
	failed              func(error)            // ends the view; nil = panic, as tests do
	ephemeral, attached bool
	zone                *time.Location
	shell               ui.Shell // where copied names are pasted

	// The terminal.
	palette       palette
	theme         *theme
	width, height int

	// Data from the source.
	now          time.Time // time of the latest tick
	snapshot     observe.Snapshot
	hasSnapshot  bool
	past         *replay.Playback // nil = the present is shown
	reading      int              // the number of the reading of the past; 0 = nothing is read
	readings     int
	keysAhead    []tea.KeyPressMsg // pressed meanwhile: many have another meaning in the past
	generation   int               // of what is shown: pulls of an earlier one are late
	pulling      bool
	inspecting   bool
	browsing     bool
	pullStarted  time.Time // of the current pull
	retryAt      time.Time // earliest time of the next pull
	pullError    string    // of the last pull; empty if it succeeded
	warnings     []string
	warningsRead int // how many of warnings the user has opened
	loops        hotLoops
	held         *heldWrites // of the selected controller; nil unless it is paused

	output outputPane

	// Display settings.
	rows         []row     // ordered and filtered
	idleHidden   int       // rows that match the filter and are hidden because they are idle
	order        []string  // IDs of all rows
	totals       rowTotals // over all rows
	arrangedAt   time.Time
	sort         sortOrder
	hideIdle     bool
	showInternal bool // also the API server's own queues
	showAll      bool // with reads and resyncs
	reported     bool // the storage reports what calls have written
	frozen       bool
	screens      []screen // the last is shown; esc goes back

	// Input state.
	askingQuit  bool // the quit question is open
	typing      inputKind
	input       string        // a kind or time that is typed; a filter is that of its list
	findFrom    int           // the line at which typing began
	confirming  *confirmation // open stop or start question; nil if none
	overlay     overlay
	overlayView viewport
	overlayFind string        // what is searched in it
	covered     *shownOverlay // by the help; nil if none
	text        *textView     // of textOverlay
	message     string        // response to the last key
	clicked     string        // what a second click on it opens

	// Interventions.
	inProgress   string         // the running intervention, other than a step; empty if none
	stepping     bool           // a step is in progress
	settingSpeed observe.Speed  // what is being set; empty if nothing
	steppingKey  bool           // the step of a key is in progress
	steps        []*steppedView // the last one of each paused controller, the newest last
	shownStep    *steppedView   // of stepOverlay

	streams int // last stream ID
	leave   Leave
}

// overlay covers the whole screen until the user closes it.
type overlay int

const (
	noOverlay overlay = iota
	helpOverlay
	warningsOverlay
	stepOverlay
	textOverlay
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
	clientsScreen
	browserScreen
)

// isPage reports whether a screen is about one controller, client or object. Its activity is
// shown in detail; that beside a list is what is notable.
func (k screenKind) isPage() bool { return k == controllerScreen || k == objectScreen }

// screen is the content of the terminal: in the upper pane the queues, the clients, a
// controller or client, or an object, and in the lower pane the related activity.
type screen struct {
	kind         screenKind
	controller   string
	purpose      string
	object       observe.Object
	inspection   *observe.Inspection // nil before the first response
	inspectError string              // why inspection is nil or incomplete
	inspectedAt  time.Time
	stale        bool // there are newer records of the object
	yaml         bool // show the manifest
	manifest     []line
	listed       *health.Listed  // the object's health, if it was opened from a list
	browsed      string          // the kind, of browserScreen
	listing      *health.Listing // nil before the first response
	browsedAt    time.Time

	view       viewport // of the upper pane
	pickedRow  string   // ID of the row that the cursor follows
	filter     string   // of the upper pane; on a page, what is searched in it
	feed       feed
	focus      pane
	upperShare int // of the upper pane, in percent
}

// maxScreens bounds the history of screens and with it the memory.
const maxScreens = 12

// Init queries the background colour and starts the first pull.
func (m model) Init() tea.Cmd {
	cmds := []tea.Cmd{tea.RequestBackgroundColor, nextTick()}
	if m.source != nil {
		cmds = append(cmds, m.pullCmd(m.neededPull()))
	}
	return m.guard(tea.Batch(cmds...))
}

func (m model) newScreen(k screenKind) screen {
	return screen{kind: k, upperShare: 60, feed: feed{following: true}}
}

// currentScreen returns the screen that is shown.
func (m model) currentScreen() screen { return m.screens[len(m.screens)-1] }

// withCurrentScreen replaces the screen that is shown.
func (m model) withCurrentScreen(s screen) model {
	m.screens = slices.Clone(m.screens)
	m.screens[len(m.screens)-1] = s
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

// openController opens the page of a controller.
func (m model) openController(name string) model {
	if name == "" {
		m.message = "the controller is unknown"
		return m
	}
	s := m.newScreen(controllerScreen)
	s.controller, s.focus = name, feedPane
	if m.purpose != nil {
		s.purpose = words.OneLine(m.purpose(name))
	}
	s.feed.stream, m = m.newStream(s)
	return m.pushScreen(s)
}

// openObject opens the page of an object.
func (m model) openObject(o observe.Object) model {
	s := m.newScreen(objectScreen)
	s.object, s.stale = o, true
	s.feed.stream, m = m.newStream(s)
	return m.pushScreen(s)
}
