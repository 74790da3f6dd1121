package live

import (
	"cmp"
	"maps"
	"time"
)

// rowTotals aggregates all rows.
type rowTotals struct {
	shown, failed   int // controllers, and queues of unknown ones, of the rows that are not internal
	working, lately int // with a key now, and those that had one in the last 5 s
	internal        int
	names           nameWidths
	scale           int64 // of the depth bars
}

// nameWidths are those of the widest names.
type nameWidths struct {
	label, queue int
	choice       rowChoice
	at           time.Time // when there were names as wide as these
}

// rowChoice is what the user has chosen to see.
type rowChoice struct {
	filter       string
	showInternal bool
}

func (n nameWidths) with(r row) nameWidths {
	n.label, n.queue = max(n.label, textWidth(r.label())), max(n.queue, textWidth(r.name))
	return n
}

// keep returns widths not less than those before, for scaleSeconds after there were names as wide: rows come and go.
func (n nameWidths) keep(before nameWidths, now time.Time) nameWidths {
	age := now.Sub(before.at)
	if n.choice != before.choice || n.label >= before.label && n.queue >= before.queue || age < 0 || age >= scaleSeconds*time.Second {
		n.at = now
		return n
	}
	n.label, n.queue, n.at = max(n.label, before.label), max(n.queue, before.queue), before.at
	return n
}

// scaleSeconds is how long a deep queue keeps the scale of the depth bars, and a long name the width of its column.
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
		case r.isActive() && !r.isParked():
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
