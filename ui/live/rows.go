package live

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

// row is a row of the table: a queue, or a controller without a queue.
type row struct {
	controller, name, state string
	queue                   *observe.Queue      // nil for a controller without a queue
	info                    *observe.Controller // nil if the controller is unknown
	failing                 bool                // a key fails, or the controller has failed
	shared                  bool                // the name of the queue is shown, too: there are several rows of the controller
	queues, workers         int                 // those that it stands for: the only row of a controller for all of its queues; 0 = unknown
	internal                bool                // not shown unless the user asks for it
}

// States of controllers.
const (
	stateOff     = observe.StateOff
	stateFailed  = observe.StateFailed
	stateRunning = observe.StateRunning
	statePaused  = observe.StatePaused
	stateFailing = "failing" // only shown
)

// shownState is the state, of a running controller "failing" while a key of the row fails.
func (r row) shownState() string {
	if r.failing && r.state == stateRunning {
		return stateFailing
	}
	return r.state
}

// idSeparator is between the controller and the queue in the ID of a row.
const idSeparator = "\x00"

func (r row) id() string { return r.controller + idSeparator + r.name }

// isActive reports whether the queue has, or had in the last 5 s (the period of
// its rates), any work.
func (r row) isActive() bool {
	q := r.queue
	if q == nil {
		return r.inFlight() > 0
	}
	return q.Depth > 0 || q.InFlight > 0 || q.AddRate > 0 || q.DoneRate > 0
}

// isWaiting reports whether a kind that the controller needs cannot be listed.
func (r row) isWaiting() bool { return r.info != nil && r.info.Unlisted != "" }

// inFlight returns how many keys are being worked on; -1 if unknown.
func (r row) inFlight() int64 {
	if r.queue != nil {
		return r.queue.InFlight
	}
	if r.info != nil {
		return int64(len(r.info.Running))
	}
	return 0
}

// peak returns the highest depth lately.
func (r row) peak() int64 {
	if r.queue == nil {
		return 0
	}
	return max(r.queue.Depth, r.queue.MaxDepth, 0)
}

// loadLevel returns a coarse load, so that rows do not swap places for a single key.
func (r row) loadLevel() int { return bits.Len64(uint64(r.peak() + max(0, r.inFlight()))) }

// pastLevel returns the same for keys that are done.
func (r row) pastLevel() int {
	if r.queue == nil {
		return 0
	}
	return bits.Len64(uint64(max(0, r.queue.DoneRate)))
}

// isBusy reports whether the row belongs to the top of the table. A single key counts only
// for controllers of what users create: others have one at each heartbeat of a node.
func (r row) isBusy() bool {
	level := r.loadLevel()
	if level == 0 {
		level = r.pastLevel()
	}
	return level > 1 || level == 1 && (r.familiarity() < housekeeping || r.state == "")
}

// isWorking reports whether a key waits or is in work now, which does not only wait for a change elsewhere.
func (r row) isWorking() bool {
	return r.inFlight() > 0 || r.queue != nil && r.queue.Depth > 0 && !r.queue.Parked
}

// isParked reports whether the keys of the row wait for a change elsewhere.
func (r row) isParked() bool { return r.queue != nil && r.queue.Parked && r.queue.Depth > 0 }

func (r row) familiarity() int { return ui.Familiarity(r.controller) }

// housekeeping is the first of the controllers for which a single key says nothing.
var housekeeping = ui.Familiarity("service-lb-controller")

// Groups of rows in the default order.
const (
	groupFailing = iota
	groupBusy
	groupChanged
	groupIdle
	groupOff
)

func (r row) group() int {
	switch {
	case r.failing:
		return groupFailing
	case r.isBusy():
		return groupBusy
	case r.state == statePaused, r.info != nil && len(r.info.Failing) > 0, r.hasEnded():
		return groupChanged
	case r.state == stateOff:
		return groupOff
	}
	return groupIdle
}

// hasEnded reports whether the controller was stopped manually, or with the process of its
// operator.
func (r row) hasEnded() bool {
	return r.state == stateOff && (observe.IsReported(r.controller) || r.info != nil && r.info.Reason == observe.ReasonStopped)
}

func compareActivity(a, b row) int {
	return cmp.Or(cmp.Compare(a.group(), b.group()), compareLoad(a, b), cmp.Compare(a.familiarity(), b.familiarity()), compareName(a, b))
}

// compareLoad compares how busy two rows are.
func compareLoad(a, b row) int {
	level := func(r row) (load, past int) {
		if r.isBusy() {
			load, past = r.loadLevel(), r.pastLevel()
		}
		return load, past
	}
	aLoad, aPast := level(a)
	bLoad, bPast := level(b)
	return cmp.Or(-cmp.Compare(aLoad, bLoad), -cmp.Compare(aPast, bPast))
}

// compareName compares the names that the table shows.
func compareName(a, b row) int {
	return cmp.Or(cmp.Compare(ui.ShortName(a.controller), ui.ShortName(b.controller)), cmp.Compare(a.controller, b.controller), cmp.Compare(a.name, b.name))
}

// rowsOf returns a row for every queue and every controller without a queue. With all, the internal ones are shown, too.
func rowsOf(s observe.Snapshot, all bool) []row {
	infos := make(map[string]*observe.Controller, len(s.Controllers))
	for i := range s.Controllers {
		infos[s.Controllers[i].Name] = &s.Controllers[i]
	}
	queues, workers, mains := map[string]int{}, map[string]int{}, map[string]*observe.Queue{}
	for i := range s.Queues {
		q := &s.Queues[i]
		queues[q.Controller]++
		workers[q.Controller] += max(q.Workers, 0)
		if main := mains[q.Controller]; main == nil || main.Parked && !q.Parked || main.Parked == q.Parked && q.Adds > main.Adds {
			mains[q.Controller] = q
		}
	}
	rows := make([]row, 0, len(s.Queues)+len(s.Controllers))
	for i := range s.Queues {
		q := &s.Queues[i]
		r := row{
			controller: words.OneLine(q.Controller), name: words.OneLine(q.Name), queue: q, info: infos[q.Controller],
			shared: queues[q.Controller] > 1, queues: 1, workers: q.Workers,
		}
		if r.info != nil {
			r.state = words.OneLine(r.info.State)
			r.failing = r.state == stateFailed && q == mains[q.Controller] || r.hasFailingKey(s.Process.Settled)
		}
		// Of a controller's queues without work one is enough, unless their owner is unknown.
		isSpare := q.Controller != "" && q != mains[q.Controller] && !r.isActive() && r.peak() == 0
		r.internal = !r.failing && (ui.IsInternal(q.Controller) || isSpare)
		rows = append(rows, r)
	}
	shown := map[string]int{}
	for _, r := range rows {
		if !r.internal {
			shown[r.controller]++
		}
	}
	for i := range rows { // without idle secondary queues, a row may stand for its controller
		if r := &rows[i]; r.shared && !all && !r.internal && shown[r.controller] == 1 {
			r.shared, r.queues, r.workers = false, queues[r.controller], workers[r.controller]
		}
	}
	for i := range s.Controllers {
		if c := &s.Controllers[i]; queues[c.Name] == 0 {
			r := row{controller: words.OneLine(c.Name), state: words.OneLine(c.State), info: c}
			r.failing = r.state == stateFailed || r.hasFailingKey(s.Process.Settled)
			r.internal = !r.failing && ui.IsInternal(c.Name)
			rows = append(rows, r)
		}
	}
	return rows
}

// hasFailingKey reports whether a key of the row's queue fails.
func (r row) hasFailingKey(settled bool) bool {
	return slices.ContainsFunc(r.info.Failing, func(f observe.FailingKey) bool {
		return (r.queue == nil || f.Queue == r.queue.Name) && ui.IsFailing(f, settled)
	})
}

// label returns the row's name: the controller, and the queue if there are several.
func (r row) label() string {
	switch queue := ui.ShortQueue(r.controller, r.name); {
	case r.controller == "":
		return "? " + r.name
	case (r.shared || ui.IsInternal(r.controller)) && queue != "":
		return ui.ShortName(r.controller) + " " + queue
	}
	return ui.ShortName(r.controller)
}

// minShownController is how much of a controller's name is shown before that of its queue.
const minShownController = 8

// labelIn returns the label for w columns: of one with a queue, the end of that is kept, which tells rows apart.
func (r row) labelIn(w int, tail string) string {
	label, controller := r.label(), ui.ShortName(r.controller)
	queue, has := strings.CutPrefix(label, controller+" ")
	if textWidth(label) <= w || !has || controller == "" {
		return label
	}
	short := truncate(controller, max(w-1-textWidth(queue), minShownController), tail)
	room := w - textWidth(short) - 1
	if over := textWidth(queue) - room; over > 0 && isASCII(queue) {
		queue = tail + queue[min(over+textWidth(tail), len(queue)):]
	}
	return short + " " + queue
}

// rowTotals aggregates all rows.
type rowTotals struct {
	shown, failed   int // controllers, and queues of unknown ones, of the rows that are not internal
	working, lately int // with a key now, and of the busy ones those without one
	internal        int
	labelWidth      int // of the widest name that was among the rows of the choice
	queueWidth      int
	choice          rowChoice
	scale           int64 // of the depth bars
}

// rowChoice is what the user has chosen to see.
type rowChoice struct {
	filter       string
	showInternal bool
}

// scaleSeconds is how long a deep queue keeps the scale of the depth bars.
const scaleSeconds = 15

func totalsOf(rows []row, withInternal bool) rowTotals {
	var t rowTotals
	var deepest int64
	var shown, failed, working, lately = names{}, names{}, names{}, names{}
	for _, r := range rows {
		if r.internal && !withInternal {
			t.internal++
			continue
		}
		shown.add(r)
		deepest = max(deepest, r.peak())
		if r.queue != nil {
			for _, s := range r.queue.History[max(len(r.queue.History)-scaleSeconds, 0):] {
				deepest = max(deepest, s.MaxDepth)
			}
		}
		switch {
		case r.isWorking():
			working.add(r)
		case r.isBusy() && !r.isParked():
			lately.add(r)
		}
		if r.state == stateFailed {
			failed.add(r)
		}
	}
	maps.DeleteFunc(lately, func(name string, _ bool) bool { return working[name] })
	t.shown, t.failed, t.working, t.lately = len(shown), len(failed), len(working), len(lately)
	t.scale = barScale(deepest)
	return t
}

// names are those of the controllers of rows, each once, or of a queue whose controller is not known.
type names map[string]bool

func (n names) add(r row) { n[cmp.Or(r.controller, "? "+r.name)] = true }

// sortOrder is the order of the table: by a column, or by activity.
type sortOrder struct {
	column   columnID
	reversed bool
}

// compareFunc returns the comparison function of this order.
func (s sortOrder) compareFunc() func(a, b row) int {
	by, sign := compareActivity, 1
	for _, c := range tableColumns() {
		if c.id == s.column && c.compare != nil {
			by = c.compare
		}
	}
	if s.reversed {
		sign = -1
	}
	return func(a, b row) int { return cmp.Or(sign*by(a, b), compareName(a, b)) }
}

// orderKeepTime is how long rows keep their places even if their order changes.
const orderKeepTime = 2 * time.Second

// arrangeRows sorts and filters the rows of the snapshot and keeps the cursor on
// its row. It keeps the previous order for orderKeepTime, unless force is set or a
// row below an idle one becomes active or fails.
func (m model) arrangeRows(force bool) model {
	first := m.screens[0]
	withInternal := m.showInternal || first.filter != ""
	all := rowsOf(m.snapshot, withInternal)
	place := make(map[string]int, len(m.order))
	for i, id := range m.order {
		place[id] = i
	}
	kept := m.snapshot.Time.Sub(m.arrangedAt) // less than 0 if the clock was set back
	keep := !force && len(all) == len(m.order) && kept >= 0 && kept < orderKeepTime
	for _, r := range all {
		if _, ok := place[r.id()]; !ok {
			keep = false
		}
	}
	if keep {
		slices.SortFunc(all, func(a, b row) int { return cmp.Compare(place[a.id()], place[b.id()]) })
		isOnTop := func(r row) bool { return r.group() <= groupBusy }
		idle := slices.IndexFunc(all, func(r row) bool { return !isOnTop(r) })
		keep = m.sort.column != sortByActivity || idle < 0 || !slices.ContainsFunc(all[idle:], isOnTop)
	}
	if !keep {
		slices.SortFunc(all, m.sort.compareFunc())
		m.order = make([]string, len(all))
		for i, r := range all {
			m.order[i] = r.id()
		}
		m.arrangedAt = m.snapshot.Time
	}
	before := m.totals
	m.rows, m.idleHidden, m.totals = nil, 0, totalsOf(all, m.showInternal)
	if m.totals.choice = (rowChoice{first.filter, m.showInternal}); m.totals.choice == before.choice { // columns stay where they are
		m.totals.labelWidth, m.totals.queueWidth = before.labelWidth, before.queueWidth
	}
	for _, r := range all {
		hidden := !r.matchesFilter(first.filter) || r.internal && !withInternal
		if !hidden { // also for idle rows, which come and go
			m.totals.labelWidth = max(m.totals.labelWidth, textWidth(r.label()))
			m.totals.queueWidth = max(m.totals.queueWidth, textWidth(r.name))
		}
		switch {
		case hidden:
		case m.hideIdle && !r.isActive() && !r.failing && !r.isWaiting() && !isOfPicked(r, first.pickedRow): // the next key acts on it
			m.idleHidden++
		default:
			m.rows = append(m.rows, r)
		}
	}
	m = m.followPickedRow()
	for i, s := range m.screens {
		if s.kind == clientsScreen {
			m = m.followPickedLine(i)
		}
	}
	return m
}

// followPickedRow moves the cursor of the table to the picked row or, as queues end when their controller is stopped, to
// the first one of its controller.
func (m model) followPickedRow() model {
	s := m.screens[0]
	at := slices.IndexFunc(m.rows, func(r row) bool { return r.id() == s.pickedRow })
	if at < 0 {
		at = slices.IndexFunc(m.rows, func(r row) bool { return isOfPicked(r, s.pickedRow) })
	}
	s.view.cursor = max(at, 0)
	m.screens = slices.Clone(m.screens)
	m.screens[0] = s
	return m
}

// isOfPicked reports whether a row is of the controller of the row with an ID.
func isOfPicked(r row, id string) bool {
	controller, _, _ := strings.Cut(id, idSeparator)
	return controller != "" && r.controller == controller
}

func (r row) matchesFilter(filter string) bool {
	return filter == "" || containsWords(r.controller+" "+r.label()+" "+r.name+" "+r.shownState(), filter)
}

// containsWords reports whether s contains all words of the filter, ignoring case.
func containsWords(s, filter string) bool {
	s = strings.ToLower(s)
	for _, word := range strings.Fields(strings.ToLower(filter)) {
		if !strings.Contains(s, word) {
			return false
		}
	}
	return true
}
