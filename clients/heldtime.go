package clients

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// keptHeld is the number of periods that are kept in which calls of a client were held.
const keptHeld = 64

// heldTimes are the last periods in which an intervention has held or delayed calls of a client, in order. They do not overlap.
type heldTimes []heldPeriod

type heldPeriod struct{ from, to time.Time }

// noteHeld notes for how long an intervention has held or delayed a call. Of writes it is a part of the time in which a client is
// busy.
func (cl *client) noteHeld(c *observe.Called) {
	if c.Held == 0 {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	p := heldPeriod{c.Began, c.Began.Add(c.Held)}
	cl.held.add(p)
	if !c.IsWrite() {
		cl.heldReads.add(p)
	}
}

// add adds the period of a call that ends now.
func (h *heldTimes) add(p heldPeriod) {
	list := *h
	for len(list) > 0 && !list[len(list)-1].to.Before(p.from) {
		last := list[len(list)-1]
		p = heldPeriod{earlier(last.from, p.from), later(last.to, p.to)}
		list = list[:len(list)-1]
	}
	if list = append(list, p); len(list) > keptHeld {
		list = slices.Delete(list, 0, 1)
	}
	*h = list
}

// within returns for how long calls were held between two times.
func (h heldTimes) within(from, to time.Time) (sum time.Duration) {
	for _, p := range h {
		sum += max(earlier(p.to, to).Sub(later(p.from, from)), 0)
	}
	return sum
}

// before returns the time that lies d before t, not counting the time in which calls were held.
func (h heldTimes) before(t time.Time, d time.Duration) time.Time {
	t = t.Add(-d)
	for _, p := range slices.Backward(h) {
		if p.to.After(t) {
			t = t.Add(-p.to.Sub(p.from))
		}
	}
	return t
}

// since returns for how long the program could have worked from a time on until the write began: it did not while its reads were
// held.
func (w *write) since(t time.Time) time.Duration {
	return w.began.Sub(t) - w.heldReads.within(t, w.began)
}
