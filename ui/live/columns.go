package live

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

type columnID int

const (
	byNone columnID = iota // activity, which is no column
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
)

// column is one of the table. Numbers are to the right, under their headings.
type column struct {
	id       columnID
	head     string
	min, max int // columns of the screen
	keep     int // where there is no room, the highest goes first
	left     bool
	compare  func(a, b row) int // nil = it cannot be sorted by
	cell     func(q *observe.Queue, t *theme) (string, style)
}

// columns are those of the table, in order. The cells of names and charts are
// drawn by the table itself.
func columns() []column {
	return []column{
		{id: colController, head: "CONTROLLER", min: 20, max: 44, keep: 0, left: true, compare: byName},
		{id: colQueue, head: "QUEUE", min: 12, max: 44, keep: 8, left: true,
			compare: func(a, b row) int { return cmp.Compare(a.name, b.name) }},
		{id: colState, head: "STATE", min: 8, max: 8, keep: 2, left: true,
			compare: func(a, b row) int { return cmp.Compare(a.state, b.state) }},
		number(colDepth, "DEPTH", 5, 1, func(q *observe.Queue) int64 { return q.Depth }),
		{id: colBar, min: 6, max: 12, keep: 10, left: true},
		{id: colInFlight, head: "IN FLIGHT", min: 9, max: 9, keep: 3, compare: descending(inFlight), cell: flightCell},
		perSecond(colAdds, "ADDS/S", 5, func(q *observe.Queue) float64 { return q.AddRate }),
		perSecond(colDone, "DONE/S", 4, func(q *observe.Queue) float64 { return q.DoneRate }),
		number(colRetries, "RETRIES", 7, 7, func(q *observe.Queue) int64 { return q.Retries }),
		quantile(colWait50, "WAIT p50", 12, func(q *observe.Queue) time.Duration { return q.Wait.Recent.P50 }),
		quantile(colWait99, "WAIT p99", 9, func(q *observe.Queue) time.Duration { return q.Wait.Recent.P99 }),
		quantile(colWork50, "WORK p50", 13, func(q *observe.Queue) time.Duration { return q.Work.Recent.P50 }),
		quantile(colWork99, "WORK p99", 11, func(q *observe.Queue) time.Duration { return q.Work.Recent.P99 }),
		{id: colHistory, head: "LAST MINUTE", min: 12, max: minute, keep: 6, left: true},
	}
}

// descending puts the highest first, and rows without a queue last.
func descending[N cmp.Ordered](of func(*observe.Queue) N) func(a, b row) int {
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

func number(id columnID, head string, w, keep int, of func(*observe.Queue) int64) column {
	return column{id: id, head: head, min: w, max: w, keep: keep, compare: descending(of),
		cell: func(q *observe.Queue, t *theme) (string, style) {
			n := of(q)
			switch {
			case n == 0:
				return t.zero(), faint
			case id == colRetries:
				return short(n), caution
			}
			return short(n), strong
		}}
}

func perSecond(id columnID, head string, keep int, of func(*observe.Queue) float64) column {
	return column{id: id, head: head, min: 6, max: 6, keep: keep, compare: descending(of),
		cell: func(q *observe.Queue, t *theme) (string, style) {
			if s := rate(of(q)); s != "" {
				return s, plain
			}
			return t.zero(), faint
		}}
}

// quantile is a column of a duration; it is quiet where nothing was measured.
func quantile(id columnID, head string, keep int, of func(*observe.Queue) time.Duration) column {
	return column{id: id, head: head, min: 8, max: 8, keep: keep, compare: descending(of),
		cell: func(q *observe.Queue, t *theme) (string, style) {
			d := of(q)
			switch {
			case d <= 0:
				return t.zero(), faint
			case d >= time.Second:
				return duration(d, t.ascii), caution
			}
			return duration(d, t.ascii), plain
		}}
}

func inFlight(q *observe.Queue) int64 { return q.InFlight }

// flightCell is 3/5: three of five workers are at it.
func flightCell(q *observe.Queue, t *theme) (string, style) {
	n, st := t.zero(), faint
	if q.InFlight > 0 {
		n, st = short(q.InFlight), accent
	}
	if q.Workers > 0 {
		n += fmt.Sprintf("/%d", q.Workers)
	}
	return n, st
}

// placed is a column with its place in a line.
type placed struct {
	column
	x, w int
}

// columnGap is free before every column but the first; the mark of the one that
// is sorted by fits in.
const columnGap = 2

// place chooses the columns for a width and gives what is left over to the
// names, as far as they need it, and then to the charts. It may change all.
func place(all []column, w, longestController, longestQueue int) []placed {
	// A name that is cut says little: names get their share before numbers do.
	for i := range all {
		switch c := &all[i]; c.id {
		case colController:
			c.min = min(max(longestController, c.min), max(w/4, c.min))
		case colQueue:
			c.min = min(max(longestQueue, c.min), max(w/6, c.min))
		}
	}
	limit := len(all)
	for ; limit > 1 && needs(all, limit) > w; limit-- {
	}
	var out []placed
	spare := w - needs(all, limit)
	for _, c := range all {
		if rankOf(all, c) < limit {
			out = append(out, placed{column: c, w: c.min})
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
	for i := range out {
		if c := &out[i]; c.id == colHistory {
			more := chartWidth(c.w+spare) - c.w
			c.w, spare = c.w+more, spare-more
		}
	}
	grow(colBar, 12)
	x := 0
	for i := range out {
		out[i].x = x
		x += out[i].w + columnGap
	}
	return out
}

// needs is the least width of the columns that go last, limit of them.
func needs(all []column, limit int) int {
	n := -columnGap
	for _, c := range all {
		if rankOf(all, c) < limit {
			n += c.min + columnGap
		}
	}
	return n
}

// rankOf is how many columns go after c.
func rankOf(all []column, c column) int {
	n := 0
	for _, other := range all {
		if other.keep < c.keep {
			n++
		}
	}
	return n
}
