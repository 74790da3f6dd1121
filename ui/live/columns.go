package live

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/ui"
)

type columnID int

const (
	sortByActivity columnID = iota // the default order, not a column
	colController
	colQueue
	colState
	colDepth
	colBar
	colInFlight
	colAdds
	colDone
	colRetries
	colWait50
	colWait99
	colWork50
	colWork99
	colHistory
	colNow
	colRequeues
)

// column is a column of the table. Numbers and their headings are right-aligned.
type column struct {
	id        columnID
	heading   string
	min, max  int // width
	dropOrder int // columns that do not fit are dropped, highest dropOrder first
	left      bool
	compare   func(a, b row) int // nil = not sortable
	cell      func(m model, r row, w int) line
}

// tableColumns returns the columns of the table, in order.
func tableColumns() []column {
	return []column{
		{id: colController, heading: "CONTROLLER", min: 18, max: 44, dropOrder: 0, left: true, compare: compareName, cell: model.controllerCell},
		{id: colQueue, heading: "QUEUE", min: 12, max: 44, dropOrder: 14, left: true,
			compare: func(a, b row) int { return cmp.Compare(a.name, b.name) },
			cell:    queueNameCell},
		{id: colState, heading: "STATE", min: 8, max: 8, dropOrder: 10, left: true,
			compare: func(a, b row) int { return cmp.Compare(a.shownState(), b.shownState()) },
			cell:    func(_ model, r row, _ int) line { return styledLine(r.shownState(), stateStyle(r.shownState())) }},
		intColumn(colDepth, "DEPTH", 5, 1, func(q *observe.Queue) int64 { return q.Depth }),
		{id: colBar, min: 10, max: 40, dropOrder: 2, left: true, cell: model.barCell},
		{id: colInFlight, heading: "IN FLIGHT", min: 9, max: 9, dropOrder: 3,
			compare: func(a, b row) int { return -cmp.Compare(a.inFlight(), b.inFlight()) }, cell: model.inFlightCell},
		rateColumn(colAdds, "ADDS/S", 9, func(q *observe.Queue) float64 { return q.AddRate }),
		rateColumn(colDone, "DONE/S", 6, func(q *observe.Queue) float64 { return q.DoneRate }),
		{id: colRetries, heading: "RETRIES", min: 7, max: 7, dropOrder: 5,
			compare: compareDescending(func(q *observe.Queue) int64 { return q.ErrorRetries }),
			cell:    queueCell(func(m model, q *observe.Queue) (string, style) { return m.intText(q.ErrorRetries, caution) })},
		intColumn(colRequeues, "REQUEUES", 8, 11, ui.PlannedRequeues),
		durationColumn(colWait50, "WAIT p50", 15, func(q *observe.Queue) (time.Duration, int64) { return q.Wait.Recent.P50, q.Gets }),
		durationColumn(colWait99, "WAIT p99", 13, func(q *observe.Queue) (time.Duration, int64) { return q.Wait.Recent.P99, q.Gets }),
		durationColumn(colWork50, "WORK p50", 16, func(q *observe.Queue) (time.Duration, int64) { return q.Work.Recent.P50, q.Done }),
		durationColumn(colWork99, "WORK p99", 8, func(q *observe.Queue) (time.Duration, int64) { return q.Work.Recent.P99, q.Done }),
		{id: colNow, heading: "NOW", min: 26, max: 80, dropOrder: 4, left: true, cell: model.nowCell},
		{id: colHistory, heading: "LAST MINUTE", min: 12, max: historySamples, dropOrder: 12, left: true, cell: model.historyCell},
	}
}

// compareDescending sorts the highest first, and rows without a queue last.
func compareDescending[N cmp.Ordered](of func(*observe.Queue) N) func(a, b row) int {
	return func(a, b row) int {
		switch {
		case a.queue == nil && b.queue == nil:
			return 0
		case a.queue == nil:
			return 1
		case b.queue == nil:
			return -1
		}
		return -cmp.Compare(of(a.queue), of(b.queue))
	}
}

// queueCell makes a cell of a fact of a queue. Without a queue the cell is empty.
func queueCell(text func(m model, q *observe.Queue) (string, style)) func(m model, r row, w int) line {
	return func(m model, r row, _ int) line {
		if r.queue == nil {
			return nil
		}
		return styledLine(text(m, r.queue))
	}
}

func intColumn(id columnID, heading string, w, dropOrder int, of func(*observe.Queue) int64) column {
	return column{id: id, heading: heading, min: w, max: w, dropOrder: dropOrder, compare: compareDescending(of),
		cell: queueCell(func(m model, q *observe.Queue) (string, style) { return m.intText(of(q), strong) })}
}

// intText is a number, in the given style unless it is 0 or unknown.
func (m model) intText(n int64, st style) (string, style) {
	switch {
	case n < 0:
		return unknownNumber, faint
	case n == 0:
		return m.theme.zeroMark(), faint
	}
	return formatShort(n), st
}

func rateColumn(id columnID, heading string, dropOrder int, of func(*observe.Queue) float64) column {
	return column{id: id, heading: heading, min: 6, max: 6, dropOrder: dropOrder, compare: compareDescending(of),
		cell: queueCell(func(m model, q *observe.Queue) (string, style) {
			if of(q) < 0 {
				return unknownNumber, faint
			}
			if s := formatRate(of(q)); s != "" {
				return s, plain
			}
			return m.theme.zeroMark(), faint
		})}
}

// durationColumn makes a column of durations of the last minute; of also returns of how many keys they are. Without a
// measurement the cell is faint.
func durationColumn(id columnID, heading string, dropOrder int, of func(*observe.Queue) (d time.Duration, keys int64)) column {
	compare := compareDescending(func(q *observe.Queue) time.Duration { d, _ := of(q); return d })
	return column{id: id, heading: heading, min: 8, max: 8, dropOrder: dropOrder, compare: compare,
		cell: queueCell(func(m model, q *observe.Queue) (string, style) {
			d, keys := of(q)
			switch {
			case d <= 0:
				return durationMark(keys, m.theme.zeroMark()), faint
			case d >= time.Second:
				return formatDuration(d, m.theme.ascii), caution
			}
			return formatDuration(d, m.theme.ascii), plain
		})}
}

// unknownNumber stands for a number that the source does not have, which is not 0.
const unknownNumber = "?"

func (m model) controllerCell(r row, w int) line {
	st := plain
	if r.isBusy() {
		st = strong
	}
	return styledLine(r.labelIn(w, m.theme.ellipsis()), st)
}

func queueNameCell(_ model, r row, _ int) line {
	if r.queues > 1 {
		return styledLine(fmt.Sprintf("%d queues", r.queues), faint)
	}
	return styledLine(r.name, faint)
}

// barCell draws the depth of a row on the scale of the table.
func (m model) barCell(r row, w int) line {
	if r.queue == nil || r.queue.Depth < 0 {
		return nil
	}
	return m.theme.depthBar(r.queue.Depth, r.peak(), m.totals.scale, w)
}

// inFlightCell shows 3/5 if three of five workers are processing a key.
func (m model) inFlightCell(r row, _ int) line {
	n, st := m.intText(r.inFlight(), accent)
	if r.queue != nil && r.queue.Workers > 0 {
		n += fmt.Sprintf("/%d", r.queue.Workers)
	}
	return styledLine(n, st)
}

func (m model) nowCell(r row, _ int) line { return styledLine(m.nowText(r)) }

func (m model) historyCell(r row, w int) line {
	if r.queue == nil {
		return nil
	}
	return styledLine(m.theme.depthChart(r.queue.History, m.snapshot.Time.Unix(), chartWidth(w), 1)[0], accent)
}

// placedColumn is a column with its position and width.
type placedColumn struct {
	column
	x, w int
}

// columnGap is the space before every column except the first. The sort mark fits
// into it.
const columnGap = 2

// placeColumns selects the columns that fit w and distributes the remaining space:
// to the names as needed, then to the charts. It may modify all.
func placeColumns(all []column, w, longestController, longestQueue int) []placedColumn {
	// A truncated name says little: names get space before number columns do.
	for i := range all {
		switch c := &all[i]; c.id {
		case colController:
			c.min = min(max(longestController, c.min), max(w/4, c.min))
		case colQueue:
			c.min = min(max(longestQueue, c.min), max(w/6, c.min))
		}
	}
	limit := len(all)
	for ; limit > 1 && columnsWidth(all, limit) > w; limit-- {
	}
	var out []placedColumn
	spare := w - columnsWidth(all, limit)
	for _, c := range all {
		if dropRank(all, c) < limit {
			out = append(out, placedColumn{column: c, w: c.min})
		}
	}
	grow := func(id columnID, to int) {
		for i := range out {
			if c := &out[i]; c.id == id {
				more := max(0, min(spare, min(to, c.max)-c.w))
				c.w, spare = c.w+more, spare-more
			}
		}
	}
	grow(colController, longestController)
	grow(colQueue, longestQueue)
	grow(colNow, 36)
	grow(colBar, 20)
	for i := range out {
		if c := &out[i]; c.id == colHistory {
			more := chartWidth(c.w+spare) - c.w
			c.w, spare = c.w+more, spare-more
		}
	}
	grow(colNow, 50)
	grow(colBar, 40)
	grow(colNow, 80)
	x := 0
	for i := range out {
		out[i].x = x
		x += out[i].w + columnGap
	}
	return out
}

// columnsWidth returns the minimum width of the limit columns that are dropped last.
func columnsWidth(all []column, limit int) int {
	n := -columnGap
	for _, c := range all {
		if dropRank(all, c) < limit {
			n += c.min + columnGap
		}
	}
	return n
}

// dropRank returns how many columns are dropped after c.
func dropRank(all []column, c column) int {
	n := 0
	for _, other := range all {
		if other.dropOrder < c.dropOrder {
			n++
		}
	}
	return n
}
