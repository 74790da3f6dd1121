// Package settled waits until a control plane is settled: no key is queued, in flight or
// due soon, no write is in flight, every informer has delivered the last write, no
// controller is being started or stopped, and no snapshot is being restored.
package settled

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Work is the remaining work in one place.
type Work struct {
	Where string   `json:"where"`           // a controller, or a queue if its controller is unknown
	What  []string `json:"what"`            // a short description of each item
	Waits string   `json:"waits,omitempty"` // "paused" or "delayed" if its writes wait because of that intervention
}

// String returns the work in one line.
func (w Work) String() string { return w.Where + ": " + strings.Join(w.What, "; ") }

// Why writes wait.
const (
	paused  = "paused"
	delayed = "delayed"
)

// RemainingWork returns the work in a snapshot that is to be done now or within the
// horizon. A control plane without remaining work is settled.
func RemainingWork(s observe.Snapshot, horizon time.Duration) []Work {
	if s.Process.State != observe.Ready {
		return []Work{{Where: "control plane", What: []string{cmp.Or(string(s.Process.State), "state unknown")}}}
	}
	if reason := s.Process.StandbyReason(); reason != "" {
		return []Work{{Where: "control plane", What: []string{reason}}}
	}
	l := &workCollector{now: s.Time, horizon: horizon, controllers: s.Controllers}
	if s.Process.TakingOver {
		l.add("control plane", "it has become the leader and starts the controllers")
	}
	if s.Process.Restoring {
		l.add("control plane", "a snapshot is being restored")
	}
	for _, q := range s.Queues {
		l.addQueue(q)
	}
	for _, c := range s.Controllers {
		l.addController(c)
	}
	for _, c := range s.Clients {
		l.addClient(c)
	}
	l.addLag()
	for _, t := range s.Timers {
		if t.Awaited || l.isDue(t.Due) {
			l.add(t.Controller, timerText(t)+" is due"+l.timeUntil(t.Due))
		}
	}
	if len(l.work) == 0 && !s.Process.Quiet {
		return RecentActivity(s)
	}
	return l.work
}

// momentAgo is the work when the last write, delivery or sync may have effects that are on their way.
const momentAgo = "the last write, delivery or sync was only a moment ago"

// RecentActivity is the work of a control plane that has nothing else to do, at the controller or client that was the last to
// do something, if that is known.
func RecentActivity(s observe.Snapshot) []Work {
	return []Work{{Where: cmp.Or(s.Process.LastActive, "control plane"), What: []string{momentAgo}}}
}

// IsRecent reports whether it is what RecentActivity returns.
func (w Work) IsRecent() bool { return w.What[0] == momentAgo }

// informers is the place that has not received the last write.
const informers = "informers"

// onlyEffects reports whether only effects of earlier work are awaited, which does not say whose.
func onlyEffects(work []Work) bool {
	return !slices.ContainsFunc(work, func(w Work) bool { return w.Where != informers && !w.IsRecent() })
}

// joinWork joins earlier work with the effects that are awaited, by place.
func joinWork(busy, effects []Work) []Work {
	joined := slices.Clone(busy)
	for _, w := range effects {
		if !w.IsRecent() && !slices.ContainsFunc(busy, func(b Work) bool { return b.Where == w.Where }) {
			joined = append(joined, w)
		}
	}
	return joined
}

// timerText says what a timer is for, and why it waits if something has failed before.
func timerText(t observe.Timer) string {
	what := cmp.Or(t.What, "a timer")
	if t.Reason != "" {
		what += " (" + t.Reason + ")"
	}
	return what
}

// workCollector collects work.
type workCollector struct {
	now         time.Time
	horizon     time.Duration
	controllers []observe.Controller
	work        []Work
}

// controllerNamed returns a controller. Components that are not controllers have no
// state.
func (l *workCollector) controllerNamed(name string) observe.Controller {
	if i := slices.IndexFunc(l.controllers, func(c observe.Controller) bool { return c.Name == name }); i >= 0 {
		return l.controllers[i]
	}
	return observe.Controller{}
}

func (l *workCollector) add(where, what string) { l.addWaiting(where, what, "") }

// addWaiting adds work whose writes wait: see Work.Waits.
func (l *workCollector) addWaiting(where, what, waits string) {
	at := slices.IndexFunc(l.work, func(w Work) bool { return w.Where == where })
	if at < 0 {
		at = len(l.work)
		l.work = append(l.work, Work{Where: where})
	}
	w := &l.work[at]
	w.What, w.Waits = append(w.What, what), cmp.Or(w.Waits, waits)
}

func (l *workCollector) addQueue(q observe.Queue) {
	if q.Outside {
		return
	}
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
	named := false
	for _, f := range of.Failing {
		due := l.isDue(f.Due) && !f.Due.Before(q.NextDue)
		if f.Queue == q.Name && (due || f.Retried && f.Due.IsZero()) {
			l.add(where, l.retryText(f))
			named = named || due
		}
	}
	if !named {
		l.add(where, "a delayed key is due in queue "+q.Name+l.timeUntil(q.NextDue))
	}
}

// retryText describes a failed key that is due, or for which it is not known when it is.
func (l *workCollector) retryText(f observe.FailingKey) string {
	retry := "its retry is due" // it may be queued behind other keys
	if in := l.timeUntil(f.Due); f.Due.IsZero() || in != "" {
		retry = "is retried" + in
	}
	text := fmt.Sprintf("%s in queue %s failed %s and %s", keyText(f.Key, f.KeyBasis), f.Queue, f.HowOften(), retry)
	if f.Error != "" {
		text += ": " + words.OneLine(f.Error)
	}
	return text
}

// stateTexts are the states of controllers that are about to work or that may be working.
var stateTexts = map[string]string{
	observe.StateBuilding: "the controller is being started",
	observe.StateStopping: "the controller is being stopped",
	observe.StateUnknown:  "it is unknown whether the controller is running",
}

func (l *workCollector) addController(c observe.Controller) {
	if is := stateTexts[c.ProcessState()]; is != "" && c.Reason != "" {
		l.add(c.Name, is+": "+words.OneLine(c.Reason))
	} else if is != "" {
		l.add(c.Name, is)
	}
	l.addSyncs(c)
	held := min(int64(c.Held), c.Writing) // Events may be held, which are no work
	if held > 0 {
		l.addWaiting(c.Name, words.Count(held, "write")+" held: the controller is paused", paused)
	}
	if sent := c.Writing - held; sent > 0 {
		l.addInFlight(c.Name, sent, c.State, c.Reason, c.Interventions)
	}
}

// addInFlight adds writes that are in flight, and which interventions delay them or make them fail.
func (l *workCollector) addInFlight(where string, writes int64, state, reason string, set observe.Interventions) {
	text, waits := words.Count(writes, "write")+" in flight", ""
	if state == observe.StateRunning && reason != "" {
		text += ": " + reason
		if set.Delay > 0 {
			waits = delayed
		}
	}
	l.addWaiting(where, text, waits)
}

// maxSyncs is how many running syncs of a controller are described.
const maxSyncs = 3

// addSyncs adds the running syncs of a controller, those that run longest first.
func (l *workCollector) addSyncs(c observe.Controller) {
	held, waits := "", ""
	if c.Held > 0 {
		held, waits = ": the controller is paused and its writes are held", paused
	}
	running := slices.SortedStableFunc(slices.Values(c.Running), func(a, b observe.RunningSync) int { return a.Since.Compare(b.Since) })
	for i, r := range running {
		if i == maxSyncs {
			l.add(c.Name, words.Count(len(running)-i, "other sync")+" running"+held)
			return
		}
		l.addWaiting(c.Name, fmt.Sprintf("sync of %s running for %s%s", keyText(r.Key, r.KeyBasis), words.Duration(max(l.now.Sub(r.Since), 0)), held), waits)
	}
}

// addClient adds the writes of a client that have no answer yet.
func (l *workCollector) addClient(c observe.Client) {
	if held := int64(c.Held); held > 0 {
		why := "the client is paused"
		if c.State != observe.StatePaused {
			why = "a controller of the client is paused"
		}
		l.addWaiting(c.Name, words.Count(held, "write")+" held: "+why, paused)
	}
	if sent := c.Writing - int64(c.Held); sent > 0 {
		l.addInFlight(c.Name, sent, c.State, c.Reason, c.Interventions)
	}
	if c.AwaitsReport {
		l.add(c.Name, "its next report is awaited: a moment ago an event was sent to it, or its connection was closed")
	}
}

// addLag adds, by resource, the controllers that have not received the last write.
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
		l.add(informers, fmt.Sprintf("version %d of %s is not delivered to %s", newest[resource], resource, joinThree(who[resource])))
	}
}

// joinThree joins up to three names.
func joinThree(names []string) string {
	if len(names) > 3 {
		names = append(names[:3:3], fmt.Sprintf("%d more", len(names)-3))
	}
	return strings.Join(names, ", ")
}

// isDue reports whether at is set and within the horizon.
func (l *workCollector) isDue(at time.Time) bool {
	return !at.IsZero() && !at.After(l.now.Add(l.horizon))
}

// timeUntil returns " in DURATION"; "" if the time has come.
func (l *workCollector) timeUntil(at time.Time) string {
	if in := at.Sub(l.now); in > 0 {
		return " in " + words.Duration(in)
	}
	return ""
}

func keyText(name string, basis observe.Basis) string {
	switch {
	case name == "":
		return "an unknown key"
	case basis.Inferred():
		return "likely " + name
	}
	return name
}
