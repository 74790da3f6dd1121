package live

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

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
	m.totals.names.choice = rowChoice{first.filter, m.showInternal}
	isChosen := func(r row) bool { return r.matchesFilter(first.filter) && (withInternal || !r.internal) }
	isShown := func(r row) bool {
		return isChosen(r) && (!m.hideIdle || r.isActive() || r.failing || r.isWaiting())
	}
	pick := hiddenPick(all, first.pickedRow, isShown)
	for _, r := range all {
		if isChosen(r) || r.id() == pick { // also idle rows, which come and go
			m.totals.names = m.totals.names.with(r)
		}
		switch {
		case isShown(r) || r.id() == pick:
			m.rows = append(m.rows, r)
		case isChosen(r):
			m.idleHidden++
		}
	}
	m.totals.names = m.totals.names.keep(before.names, m.snapshot.Time)
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

// hiddenPick returns the ID of the row that is shown for the picked controller although none of its rows would be: the next key
// acts on that controller. It is empty if that is not necessary.
func hiddenPick(all []row, picked string, isShown func(row) bool) (id string) {
	for _, r := range all {
		switch {
		case !isOfPicked(r, picked):
		case isShown(r):
			return ""
		case id == "" || r.id() == picked:
			id = r.id()
		}
	}
	return id
}

// isOfPicked reports whether a row is the one with an ID, or of its controller.
func isOfPicked(r row, id string) bool {
	controller, _, _ := strings.Cut(id, idSeparator)
	return r.id() == id || controller != "" && r.controller == controller
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
