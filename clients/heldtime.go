package clients

import (
	"slices"
	"sort"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// keptHeld is the number of periods that are kept in which calls of a client were held.
const keptHeld = 64

// heldTimes are the last periods in which an intervention has held or delayed calls of a client, in order. They do not overlap.
type heldTimes []heldPeriod

type heldPeriod struct{ from, to time.Time }

// noteHeld notes for how long an intervention has held or delayed a call. A client renews its Lease whatever else it does.
func (cl *client) noteHeld(c *observe.Called) {
	if c.Held == 0 || c.IsRoutine() {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	times := &cl.heldReads
	if c.IsWrite() {
		times = &cl.heldWrites
	}
	times.add(heldPeriod{c.Began, c.Began.Add(c.Held)})
}

// add adds a period, which may have begun before others: its call may have gone on for long after it was held.
func (h *heldTimes) add(p heldPeriod) {
	list := *h
	first := sort.Search(len(list), func(i int) bool { return !list[i].to.Before(p.from) })
	end := sort.Search(len(list), func(i int) bool { return list[i].from.After(p.to) })
	if first < end {
		p = heldPeriod{earlier(list[first].from, p.from), later(list[end-1].to, p.to)}
	}
	if list = slices.Replace(list, first, end, p); len(list) > keptHeld {
		list = slices.Delete(list, 0, 1)
	}
	*h = list
}

// before returns the time that lies d before t, not counting the time in which calls were held.
func (h heldTimes) before(t time.Time, d time.Duration) time.Time {
	at := t.Add(-d)
	for _, p := range slices.Backward(h) {
		if p.to.After(at) {
			at = at.Add(-max(earlier(p.to, t).Sub(p.from), 0))
		}
	}
	return at
}

// since returns for how long the program could have worked from a time on until the write began: it did not while its reads were
// held. That is known only if it has made one after the other until then: others are of a goroutine that polls.
func (w *write) since(t time.Time) time.Duration {
	last, worked := t, time.Duration(0)
	for _, p := range w.heldReads {
		pause := p.from.Sub(last)
		if pause < 0 {
			continue
		}
		if pause > maxPause || p.to.After(w.began) {
			break
		}
		last, worked = p.to, worked+pause
	}
	if pause := w.began.Sub(last); pause <= maxPause {
		return worked + pause
	}
	return w.began.Sub(t)
}
