// Package settled waits until nothing is left to do in a control plane: no key
// is queued, worked on or about to be tried again.
package settled

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Work is what is left to do in one place.
type Work struct {
	Where string   // a controller or, where that is not known, a queue
	What  []string // each in a few words
}

// String is the work in one line.
func (w Work) String() string { return w.Where + ": " + strings.Join(w.What, "; ") }

// Left tells what a snapshot shows is left to do now, or within the horizon. A
// control plane is settled when that is nothing.
func Left(s observe.Snapshot, horizon time.Duration) []Work {
	if s.Process.State != observe.Ready {
		return []Work{{"control plane", []string{"it is " + cmp.Or(string(s.Process.State), "not known to be ready")}}}
	}
	l := &left{now: s.Time, horizon: horizon, queues: map[place]observe.Queue{}}
	for _, q := range s.Queues {
		l.queues[place{q.Controller, q.Name}] = q
		l.queue(q)
	}
	for _, c := range s.Controllers {
		l.controller(c)
	}
	if len(l.work) == 0 && !s.Process.Settled {
		l.add("control plane", "something was written or delivered a moment ago")
	}
	return l.work
}

type place struct{ controller, queue string }

// left collects work.
type left struct {
	now     time.Time
	horizon time.Duration
	queues  map[place]observe.Queue
	work    []Work
}

func (l *left) add(where, what string) {
	for i := range l.work {
		if l.work[i].Where == where {
			l.work[i].What = append(l.work[i].What, what)
			return
		}
	}
	l.work = append(l.work, Work{where, []string{what}})
}

func (l *left) queue(q observe.Queue) {
	if q.Depth+q.InFlight > 0 {
		l.add(cmp.Or(q.Controller, q.Name), fmt.Sprintf("queue %s has depth %d, %d in flight", q.Name, q.Depth, q.InFlight))
	}
}

func (l *left) controller(c observe.Controller) {
	for _, r := range c.Running {
		l.add(c.Name, fmt.Sprintf("sync of %s takes %s by now", key(r.Key, r.KeyBasis), l.now.Sub(r.Since).Round(time.Millisecond)))
	}
	for _, f := range c.Failing {
		if q, ok := l.queues[place{c.Name, f.Queue}]; ok && l.due(f, q) {
			text := fmt.Sprintf("%s in queue %s has failed %s and will be retried", key(f.Key, f.KeyBasis), f.Queue, times(f.Times))
			if f.Error != "" {
				text += ": " + strings.Join(strings.Fields(f.Error), " ")
			}
			l.add(c.Name, text)
		}
	}
}

// A queue backs off exponentially, by its controller's choice from 5 ms or from
// 1 s, and for no longer than 1000 s.
const (
	fastest = 5 * time.Millisecond
	slowest = time.Second
	longest = 1000 * time.Second
)

// due tells whether a key that fails may be tried again within the horizon. It
// is not if no key of its queue waits for a timer, or if the retry is overdue
// even for the slowest queue: then its controller has given up.
func (l *left) due(f observe.Failing, q observe.Queue) bool {
	return q.Delayed != 0 &&
		!f.Last.Add(backoff(fastest, f.Times)).After(l.now.Add(l.horizon)) &&
		!f.Last.Add(backoff(slowest, f.Times)).Add(time.Second).Before(l.now)
}

func backoff(base time.Duration, failures int) time.Duration {
	for ; failures > 1 && base < longest; failures-- {
		base *= 2
	}
	return min(base, longest)
}

func key(name string, basis observe.Basis) string {
	switch {
	case name == "":
		return "a key that is not known"
	case basis.Inferred():
		return "likely " + name
	}
	return name
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
