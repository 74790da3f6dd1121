// Package settled waits until nothing is left to do in a control plane: no key
// is queued, worked on or about to come, no write is on its way, and everybody
// has been told of the last one.
package settled

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
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

// RemainingWork tells what a snapshot shows is left to do now, or within the horizon. A
// control plane is settled when that is nothing.
func RemainingWork(s observe.Snapshot, horizon time.Duration) []Work {
	if s.Process.State != observe.Ready {
		return []Work{{"control plane", []string{"it is " + cmp.Or(string(s.Process.State), "not known to be ready")}}}
	}
	l := &workCollector{now: s.Time, horizon: horizon, controllers: s.Controllers}
	for _, q := range s.Queues {
		l.addQueue(q)
	}
	for _, c := range s.Controllers {
		l.addController(c)
	}
	l.addLag()
	for _, t := range s.Timers {
		if l.isDue(t.Due) {
			l.add(t.Controller, fmt.Sprintf("%s is due in %s", cmp.Or(t.What, "something"), l.timeUntil(t.Due)))
		}
	}
	if len(l.work) == 0 && !s.Process.Quiet {
		l.add("control plane", "something was written, delivered or synced a moment ago")
	}
	return l.work
}

// workCollector collects work.
type workCollector struct {
	now         time.Time
	horizon     time.Duration
	controllers []observe.Controller
	work        []Work
}

// controllerNamed is a controller; one without a state is a part that is none.
func (l *workCollector) controllerNamed(name string) observe.Controller {
	if i := slices.IndexFunc(l.controllers, func(c observe.Controller) bool { return c.Name == name }); i >= 0 {
		return l.controllers[i]
	}
	return observe.Controller{}
}

func (l *workCollector) add(where, what string) {
	for i := range l.work {
		if l.work[i].Where == where {
			l.work[i].What = append(l.work[i].What, what)
			return
		}
	}
	l.work = append(l.work, Work{where, []string{what}})
}

func (l *workCollector) addQueue(q observe.Queue) {
	where := cmp.Or(q.Controller, q.Name)
	depth := q.Depth
	if q.Parked {
		depth = 0
	}
	if depth+q.InFlight > 0 {
		l.add(where, fmt.Sprintf("queue %s has depth %d, %d in flight", q.Name, q.Depth, q.InFlight))
	}
	of := l.controllerNamed(q.Controller)
	if of.State == "" || !l.isDue(q.NextDue) { // the API server's own queues poll
		return
	}
	retries := l.retryTexts(q, of.Failing)
	for _, r := range retries {
		l.add(where, r)
	}
	if len(retries) == 0 {
		l.add(where, fmt.Sprintf("a key that was put back comes to queue %s in %s", q.Name, l.timeUntil(q.NextDue)))
	}
}

// retryTexts are the keys of a queue that have failed and are due.
func (l *workCollector) retryTexts(q observe.Queue, failing []observe.FailingKey) (list []string) {
	for _, f := range failing {
		if f.Queue == q.Name && l.isDue(f.Due) && !f.Due.Before(q.NextDue) {
			text := fmt.Sprintf("%s in queue %s has failed %s and is tried again in %s", keyText(f.Key, f.KeyBasis), f.Queue, timesText(f.Times), l.timeUntil(f.Due))
			if f.Error != "" {
				text += ": " + strings.Join(strings.Fields(f.Error), " ")
			}
			list = append(list, text)
		}
	}
	return list
}

func (l *workCollector) addController(c observe.Controller) {
	held := ""
	if c.State == "paused" && c.Writing > 0 {
		held = ", and its writes are held: it is paused"
	}
	for _, r := range c.Running {
		l.add(c.Name, fmt.Sprintf("sync of %s takes %s by now%s", keyText(r.Key, r.KeyBasis), l.now.Sub(r.Since).Round(time.Millisecond), held))
	}
	if c.Writing > 0 {
		l.add(c.Name, fmt.Sprintf("%s not answered yet", countText(c.Writing, "write is", "writes are")))
	}
}

// addLag adds, by resource, who has not been told of the last write.
func (l *workCollector) addLag() {
	who := map[string][]string{}
	newest := map[string]int64{}
	for _, c := range l.controllers {
		for _, b := range c.Behind {
			who[b.Resource] = append(who[b.Resource], c.Name)
			newest[b.Resource] = b.Written
		}
	}
	for _, resource := range slices.Sorted(maps.Keys(who)) {
		l.add("informers", fmt.Sprintf("version %d of %s has not reached %s", newest[resource], resource, joinThree(who[resource])))
	}
}

// joinThree names three of a list at most.
func joinThree(names []string) string {
	if len(names) > 3 {
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

// isDue says whether a moment, if there is one, is not further than the horizon.
func (l *workCollector) isDue(at time.Time) bool {
	return !at.IsZero() && !at.After(l.now.Add(l.horizon))
}

func (l *workCollector) timeUntil(at time.Time) time.Duration {
	return max(at.Sub(l.now).Round(time.Millisecond), 0)
}

func keyText(name string, basis observe.Basis) string {
	switch {
	case name == "":
		return "a key that is not known"
	case basis.Inferred():
		return "likely " + name
	}
	return name
}

func timesText(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func countText(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
