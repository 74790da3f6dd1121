package live

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// row is a row of the table: a queue, or a controller without a queue.
type row struct {
	controller, name, state string
	queue                   *observe.Queue // nil for a controller without a queue
	shared                  bool           // the controller has several queues
}

// States of controllers; see also statePaused.
const (
	stateOff     = "off"
	stateFailed  = "failed"
	stateRunning = "running"
)

func (r row) id() string { return r.controller + "\x00" + r.name }

// isActive reports whether the queue has, or had in the last 5 s (the period of
// its rates), any work.
func (r row) isActive() bool {
	q := r.queue
	return q != nil && (q.Depth > 0 || q.InFlight > 0 || q.AddRate > 0 || q.DoneRate > 0)
}

// loadLevel returns a coarse load, so that rows do not swap places for a single key.
func (r row) loadLevel() int {
	if r.queue == nil {
		return 0
	}
	return bits.Len64(uint64(max(0, r.queue.Depth))) + bits.Len64(uint64(max(0, r.queue.DoneRate)))
}

// groupRank returns the position of the row's group in the default order.
func (r row) groupRank() int {
	switch {
	case r.isActive():
		return 0
	case r.state == stateFailed, r.state == statePaused:
		return 1
	case r.state == stateOff:
		return 3
	}
	return 2
}

func compareActivity(a, b row) int {
	return cmp.Or(cmp.Compare(a.groupRank(), b.groupRank()), -cmp.Compare(a.loadLevel(), b.loadLevel()), compareName(a, b))
}

func compareName(a, b row) int {
	return cmp.Or(cmp.Compare(a.controller, b.controller), cmp.Compare(a.name, b.name))
}

// rowsOf returns a row for every queue and every controller without a queue.
func rowsOf(s observe.Snapshot) []row {
	states := make(map[string]string, len(s.Controllers))
	for _, c := range s.Controllers {
		states[c.Name] = c.State
	}
	queues := map[string]int{}
	for _, q := range s.Queues {
		queues[q.Controller]++
	}
	rows := make([]row, 0, len(s.Queues)+len(s.Controllers))
	for i := range s.Queues {
		q := &s.Queues[i]
		rows = append(rows, row{
			controller: words.OneLine(q.Controller), name: words.OneLine(q.Name), state: words.OneLine(states[q.Controller]),
			queue: q, shared: queues[q.Controller] > 1,
		})
	}
	for _, c := range s.Controllers {
		if queues[c.Name] == 0 {
			rows = append(rows, row{controller: words.OneLine(c.Name), state: words.OneLine(c.State)})
		}
	}
	return rows
}

// rowTotals aggregates all rows.
type rowTotals struct {
	queues, active, failed int
	controllerWidth        int // of the widest name
	queueWidth             int
}

func totalsOf(rows []row) rowTotals {
	var t rowTotals
	for _, r := range rows {
		t.controllerWidth = max(t.controllerWidth, textWidth(r.controller))
		t.queueWidth = max(t.queueWidth, textWidth(r.name))
		if r.queue != nil {
			t.queues++
		}
		if r.isActive() {
			t.active++
		}
		if r.state == stateFailed {
			t.failed++
		}
	}
	return t
}

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

// orderHoldTime is how long rows keep their places even if their order changes.
const orderHoldTime = 2 * time.Second

// arrangeRows sorts and filters the rows of the snapshot and keeps the cursor on
// its row. It keeps the previous order for orderHoldTime, unless force is set or a
// row below an idle one becomes active.
func (m model) arrangeRows(force bool) model {
	all := rowsOf(m.snapshot)
	place := make(map[string]int, len(m.order))
	for i, id := range m.order {
		place[id] = i
	}
	keep := !force && len(all) == len(m.order) && m.snapshot.Time.Sub(m.arrangedAt) < orderHoldTime
	for _, r := range all {
		if _, ok := place[r.id()]; !ok {
			keep = false
		}
	}
	if keep {
		slices.SortFunc(all, func(a, b row) int { return cmp.Compare(place[a.id()], place[b.id()]) })
		idle := slices.IndexFunc(all, func(r row) bool { return !r.isActive() })
		keep = m.sort.column != sortByActivity || idle < 0 || !slices.ContainsFunc(all[idle:], row.isActive)
	}
	if !keep {
		slices.SortFunc(all, m.sort.compareFunc())
		m.order = make([]string, len(all))
		for i, r := range all {
			m.order[i] = r.id()
		}
		m.arrangedAt = m.snapshot.Time
	}
	first := m.screens[0]
	m.rows, m.idleHidden, m.totals = nil, 0, totalsOf(all)
	for _, r := range all {
		switch {
		case !r.matchesFilter(first.filter):
		case m.hideIdle && !r.isActive():
			m.idleHidden++
		default:
			m.rows = append(m.rows, r)
		}
	}
	return m.followPickedRow()
}

// followPickedRow moves the cursor of the table to the picked row.
func (m model) followPickedRow() model {
	s := m.screens[0]
	s.view.cursor = 0
	for i, r := range m.rows {
		if s.pickedRow != "" && r.id() == s.pickedRow {
			s.view.cursor = i
		}
	}
	m.screens = slices.Clone(m.screens)
	m.screens[0] = s
	return m
}

func (r row) matchesFilter(filter string) bool {
	return filter == "" || containsWords(r.controller+" "+r.name+" "+r.state, filter)
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
