package replay

import (
	"reflect"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// wholeEvery is after how many changes a whole snapshot follows, so that a reader
	// finds one near to any moment.
	wholeEvery = 240
	// quietInterval is how often the numbers of the process, or of an idle control plane, are worth a line.
	quietInterval = time.Second
	// maxIdle is how many samples without work a line may stand for. Usually it is one.
	maxIdle = 5
)

// The lists of a snapshot, in stateChange.Whole.
const (
	controllersList = "controllers"
	queuesList      = "queues"
	clientsList     = "clients"
	timersList      = "timers"
	problemsList    = "problems"
)

// encoder turns snapshots into lines: a whole one, then what changes.
type encoder struct {
	last    observe.Snapshot
	listed  map[string][]observe.Sample // the histories of queues in the lines that list them
	changes int                         // since the last whole snapshot
	begun   bool
	must    bool // the next snapshot is worth a line
}

// restart makes the next line a whole snapshot.
func (e *encoder) restart() { e.begun = false }

// encode returns the line of a snapshot; nil if it is not worth one.
func (e *encoder) encode(s observe.Snapshot) any {
	must := e.must
	e.must = false
	if e.begun && s.Process.State == observe.Stopping {
		e.keepLists(&s)
	}
	if !e.begun || e.changes >= wholeEvery {
		e.begun, e.changes, e.last, e.listed = true, 0, s, map[string][]observe.Sample{}
		e.noteListed(s.Queues)
		return snapshotLine{snapshotKind, s}
	}
	c := stateChange{Kind: stateChangedKind, Time: s.Time, Process: s.Process, Journal: s.Journal}
	c.Controllers = list(&c, controllersList, e.last.Controllers, s.Controllers, controllerID, same)
	c.Clients = list(&c, clientsList, e.last.Clients, s.Clients, clientID, same)
	queues := e.changedQueues(&c, s.Queues)
	if !reflect.DeepEqual(e.last.Timers, s.Timers) {
		c.Whole, c.Timers = append(c.Whole, timersList), s.Timers
	}
	if !reflect.DeepEqual(e.last.Problems, s.Problems) {
		c.Whole, c.Problems = append(c.Whole, problemsList), s.Problems
	}
	if !must && s.Time.Sub(e.last.Time) < quietInterval && e.isQuiet(&c, &s, queues) {
		return nil
	}
	c.Queues = toChanges(e.listed, queues)
	if c.isWhole(queuesList) { // a reader forgets those that the line leaves out
		e.listed = map[string][]observe.Sample{}
	}
	e.noteListed(queues)
	e.last = s
	e.changes++
	return c
}

// keepLists keeps what there was before a control plane stops, part by part, but for the controllers, whose states change.
func (e *encoder) keepLists(s *observe.Snapshot) {
	s.Queues, s.Clients = longer(e.last.Queues, s.Queues), longer(e.last.Clients, s.Clients)
	s.Timers, s.Problems = longer(e.last.Timers, s.Timers), longer(e.last.Problems, s.Problems)
}

// longer returns the list of now, unless elements have gone.
func longer[T any](before, now []T) []T {
	if len(now) < len(before) {
		return before
	}
	return now
}

// noteListed notes the histories of queues that a line lists.
func (e *encoder) noteListed(queues []observe.Queue) {
	for i := range queues {
		e.listed[queueID(&queues[i])] = queues[i].History
	}
}

// changedQueues returns the queues of which more has changed than that their histories go on without work.
func (e *encoder) changedQueues(c *stateChange, now []observe.Queue) []observe.Queue {
	c.IdleSamples = idleSamples(e.last.Queues, now)
	return list(c, queuesList, e.last.Queues, now, queueID, func(a, b *observe.Queue) bool {
		went := *a
		went.History = withIdle(a.History, a.Depth, c.IdleSamples)
		return same(&went, b)
	})
}

// idleSamples returns the number of samples without work with which most histories go on that do.
func idleSamples(before, now []observe.Queue) (most int) {
	if !sameIDs(before, now, queueID) {
		return 0
	}
	var queues [maxIdle + 1]int
	for i := range now {
		a, b := &before[i], &now[i]
		if slices.Equal(a.History, b.History) {
			continue
		}
		for n := 1; n <= maxIdle; n++ {
			if slices.Equal(withIdle(a.History, a.Depth, n), b.History) {
				queues[n]++
				break
			}
		}
	}
	for n := range queues {
		if queues[n] > queues[most] {
			most = n
		}
	}
	return most
}

// isQuiet reports whether nothing but the numbers of the process has changed, or of an idle control plane, which works
// a little all the time.
func (e *encoder) isQuiet(c *stateChange, s *observe.Snapshot, queues []observe.Queue) bool {
	before := &e.last.Process
	if s.Process.State != before.State || s.Process.Settled != before.Settled || len(c.Clients)+len(c.Whole) > 0 {
		return false
	}
	if len(c.Controllers)+len(queues) == 0 {
		return true
	}
	return s.Process.Settled && slices.EqualFunc(e.last.Controllers, s.Controllers, func(a, b observe.Controller) bool { return a.Since.Equal(b.Since) })
}

// list returns the elements that have changed, or all of them if there are others than
// before, which c then says.
func list[T any](c *stateChange, name string, before, now []T, id func(*T) string, same func(a, b *T) bool) (changed []T) {
	if !sameIDs(before, now, id) {
		c.Whole = append(c.Whole, name)
		return now
	}
	for i := range now {
		if !same(&before[i], &now[i]) {
			changed = append(changed, now[i])
		}
	}
	return changed
}

// sameIDs reports whether both lists have the same elements in the same order, each once.
func sameIDs[T any](before, now []T, id func(*T) string) bool {
	if len(before) != len(now) {
		return false
	}
	seen := make(map[string]bool, len(now))
	for i := range now {
		name := id(&now[i])
		if id(&before[i]) != name || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func same[T any](a, b *T) bool { return reflect.DeepEqual(a, b) }

func controllerID(c *observe.Controller) string { return c.Name }
func clientID(c *observe.Client) string         { return c.Name }
func queueID(q *observe.Queue) string           { return q.Controller + "\x00" + q.Name }

// toChanges writes the histories of queues as what follows those that were last listed.
func toChanges(listed map[string][]observe.Sample, queues []observe.Queue) []queueChange {
	if len(queues) == 0 {
		return nil
	}
	changes := make([]queueChange, len(queues))
	for i, q := range queues {
		keep := overlap(listed[queueID(&q)], q.History)
		changes[i] = queueChange{Queue: q, Keep: keep, Samples: q.History[keep:]}
		changes[i].History = nil
	}
	return changes
}

// overlap returns how many samples at the end of one history begin the next one.
func overlap(before, now []observe.Sample) int {
	for keep := min(len(before), len(now)); keep > 0; keep-- {
		if slices.Equal(before[len(before)-keep:], now[:keep]) {
			return keep
		}
	}
	return 0
}
