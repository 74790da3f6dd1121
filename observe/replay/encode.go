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
	// quietInterval is how often the numbers of the process alone are worth a line.
	quietInterval = time.Second
)

// The lists of a snapshot, in stateChange.Whole.
const (
	controllersList = "controllers"
	queuesList      = "queues"
	clientsList     = "clients"
	timersList      = "timers"
)

// encoder turns snapshots into lines: a whole one, then what changes.
type encoder struct {
	last    observe.Snapshot
	changes int // since the last whole snapshot
	begun   bool
}

// restart makes the next line a whole snapshot.
func (e *encoder) restart() { e.begun = false }

// encode returns the line of a snapshot; nil if it is not worth one.
func (e *encoder) encode(s observe.Snapshot) any {
	if !e.begun || e.changes >= wholeEvery {
		e.begun, e.changes, e.last = true, 0, s
		return snapshotLine{snapshotKind, s}
	}
	c := stateChange{Kind: stateChangedKind, Time: s.Time, Process: s.Process, Journal: s.Journal}
	c.Controllers = list(&c, controllersList, e.last.Controllers, s.Controllers, controllerID, same)
	c.Clients = list(&c, clientsList, e.last.Clients, s.Clients, clientID, same)
	c.Queues = toChanges(&e.last, list(&c, queuesList, e.last.Queues, s.Queues, queueID, same))
	if !reflect.DeepEqual(e.last.Timers, s.Timers) {
		c.Whole, c.Timers = append(c.Whole, timersList), s.Timers
	}
	if c.isQuiet() && s.Time.Sub(e.last.Time) < quietInterval && s.Process.State == e.last.Process.State && s.Process.Settled == e.last.Process.Settled {
		return nil
	}
	e.last = s
	e.changes++
	return c
}

// isQuiet reports whether nothing but the numbers of the process has changed.
func (c *stateChange) isQuiet() bool {
	return len(c.Controllers)+len(c.Queues)+len(c.Clients)+len(c.Whole) == 0
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

// toChanges writes the histories of queues as what follows that of the last snapshot.
func toChanges(last *observe.Snapshot, queues []observe.Queue) []queueChange {
	if len(queues) == 0 {
		return nil
	}
	before := make(map[string][]observe.Sample, len(last.Queues))
	for i := range last.Queues {
		before[queueID(&last.Queues[i])] = last.Queues[i].History
	}
	changes := make([]queueChange, len(queues))
	for i, q := range queues {
		keep := overlap(before[queueID(&q)], q.History)
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
