package observe

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// dueGrace is how long an overdue delayed key still counts as pending: the
	// queue's timer may be late.
	dueGrace       = 20 * time.Millisecond
	maxDelayedKeys = 8192 // delayed keys kept per queue, the soonest
)

// delayedKeys holds the times at which a queue's delayed keys are due. Adding takes
// no lock; readers serialize on mu.
type delayedKeys struct {
	unsorted atomic.Pointer[delayedKey] // added since the last read, newest first

	mu  sync.Mutex
	due []time.Time // in order
}

type delayedKey struct {
	due  time.Time
	next *delayedKey
}

func (l *delayedKeys) add(due time.Time) {
	p := &delayedKey{due: due, next: l.unsorted.Load()}
	for !l.unsorted.CompareAndSwap(p.next, p) {
		p.next = l.unsorted.Load()
	}
}

// pendingKeys returns the number of delayed keys and when the first is due; zero if
// there are none. A key delayed twice counts twice: the queue does not report
// that it merges them.
func (l *delayedKeys) pendingKeys(now time.Time) (n int, first time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.unsorted.Swap(nil); p != nil {
		for ; p != nil; p = p.next {
			l.due = append(l.due, p.due)
		}
		slices.SortFunc(l.due, time.Time.Compare)
	}
	past, _ := slices.BinarySearchFunc(l.due, now.Add(-dueGrace), time.Time.Compare)
	l.due = slices.Delete(l.due, 0, past)
	if len(l.due) > maxDelayedKeys {
		l.due = slices.Delete(l.due, maxDelayedKeys, len(l.due))
	}
	if len(l.due) == 0 {
		return 0, time.Time{}
	}
	return len(l.due), l.due[0]
}

// Timer is a time at which a controller acts without an event.
type Timer struct {
	Controller string    `json:"controller"`
	What       string    `json:"what,omitempty"` // what the timer is for
	Due        time.Time `json:"due"`
	// Reason is why it waits, if something has failed before: CrashLoopBackOff.
	Reason string `json:"reason,omitempty"`
}

// compareTimers orders timers by due time.
func compareTimers(a, b Timer) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.What, b.What)) }
