package live

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

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
	queues                  int                 // that it stands for: the only row of a controller for all of its queues
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
	queues, mains := map[string][]*observe.Queue{}, map[string]*observe.Queue{}
	for i := range s.Queues {
		q := &s.Queues[i]
		queues[q.Controller] = append(queues[q.Controller], q)
		if main := mains[q.Controller]; main == nil || main.Parked && !q.Parked || main.Parked == q.Parked && q.Adds > main.Adds {
			mains[q.Controller] = q
		}
	}
	rows := make([]row, 0, len(s.Queues)+len(s.Controllers))
	for i := range s.Queues {
		q := &s.Queues[i]
		r := row{
			controller: words.OneLine(q.Controller), name: words.OneLine(q.Name), queue: q, info: infos[q.Controller],
			shared: len(queues[q.Controller]) > 1, queues: 1,
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
		if r := &rows[i]; r.shared && !all && !r.internal && shown[r.controller] == 1 && !ui.IsInternal(r.controller) {
			of := queues[r.controller]
			r.shared, r.queues, r.queue = false, len(of), withIdle(r.queue, of)
		}
	}
	for i := range s.Controllers {
		if c := &s.Controllers[i]; queues[c.Name] == nil {
			r := row{controller: words.OneLine(c.Name), state: words.OneLine(c.State), info: c}
			r.failing = r.state == stateFailed || r.hasFailingKey(s.Process.Settled)
			r.internal = !r.failing && ui.IsInternal(c.Name)
			rows = append(rows, r)
		}
	}
	return rows
}

// withIdle returns a queue with the workers and retries of all queues of its controller, of which the others have no work.
func withIdle(main *observe.Queue, all []*observe.Queue) *observe.Queue {
	sum := *main
	add := func(a, b int64) int64 {
		if a < 0 || b < 0 {
			return -1
		}
		return a + b
	}
	for _, q := range all {
		if q == main {
			continue
		}
		sum.Retries, sum.ErrorRetries = add(sum.Retries, q.Retries), add(sum.ErrorRetries, q.ErrorRetries)
		if sum.Workers > 0 && q.Workers > 0 {
			sum.Workers += q.Workers
		} else {
			sum.Workers = 0 // unknown
		}
	}
	return &sum
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
