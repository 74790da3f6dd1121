package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// minWorking is how long work for an object has to last until it is worth saying.
const minWorking = time.Second

// Working says which syncs of an object's key have not ended, and in which queues the key waits, one sentence
// each. It leaves out what has begun just now.
func Working(now observe.Snapshot, records []observe.Record, about observe.Object, s Style) (list []string) {
	about = *canonicalObject(about)
	about.UID = ""
	p := newPainter(s, "")
	isItsKey := func(controller, queue, key string) bool {
		return key == about.Key() && keysStandFor(records, controller, observe.FailingKey{Queue: queue, Key: key}, about)
	}
	for i := range now.Controllers {
		c := &now.Controllers[i]
		for _, r := range c.Running {
			if r.KeyBasis.Certain() && !r.Waits && now.Time.Sub(r.Since) >= minWorking && isItsKey(c.Name, r.Queue, r.Key) {
				list = append(list, words.OneLine(c.Name+" has been syncing "+r.Key)+p.since(r.Since, now.Time)+".")
			}
		}
	}
	for i := range now.Queues {
		q := &now.Queues[i]
		for _, w := range q.Waiting {
			w = *canonicalObject(w)
			since := lastQueued(records, q, w)
			if q.Parked || !w.Same(about) || since.IsZero() || now.Time.Sub(since) < minWorking || !isItsKey(q.Controller, q.Name, w.Key()) {
				continue
			}
			list = append(list, words.OneLine(w.Key()+" waits in the queue of "+q.Controller)+p.since(since, now.Time)+p.behind(q, now)+".")
		}
	}
	return list
}

// since says since when something lasts.
func (p *painter) since(t, now time.Time) string {
	return " since " + p.formatClock(t) + " (" + p.formatDuration(now.Sub(t)) + ")"
}

// lastQueued returns when the last event of an object has added a key to a queue; zero if that is not recorded.
func lastQueued(records []observe.Record, q *observe.Queue, o observe.Object) (at time.Time) {
	for i := range records {
		if d, ok := records[i].Event.(*observe.Delivered); ok && d.Controller == q.Controller && canonicalObject(d.Object).Same(o) && queuedIn(d, q.Name) {
			at = records[i].Time
		}
	}
	return at
}

// behind says which keys the workers of a queue work on.
func (p *painter) behind(q *observe.Queue, now observe.Snapshot) string {
	var keys []string
	for i := range now.Controllers {
		c := &now.Controllers[i]
		for _, r := range c.Running {
			if c.Name == q.Controller && r.Queue == q.Name && r.Key != "" && len(keys) < 3 {
				keys = append(keys, words.OneLine(r.Key)+", which has been syncing"+p.since(r.Since, now.Time))
			}
		}
		if c.Name == q.Controller && c.State == "paused" {
			return ": the controller is paused"
		}
	}
	if len(keys) == 0 {
		return ""
	}
	return fmt.Sprintf(", behind %s", strings.Join(keys, ", and "))
}
