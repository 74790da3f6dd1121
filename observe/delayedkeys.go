package observe

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// dueGrace is how long after its time a key that was put back is still
	// reckoned with: the queue's timer may be late.
	dueGrace       = 20 * time.Millisecond
	maxDelayedKeys = 8192 // keys put back that are remembered, the soonest, a queue
)

// delayedKeys are the keys that a queue has put back, by when they are due. Putting
// one in takes no lock; those who look wait for each other.
type delayedKeys struct {
	unsorted atomic.Pointer[delayedKey] // since somebody looked, the newest first

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

// pending is how many keys are to come and when the first is due; zero if none
// is. Keys that are put back twice are counted twice: the queue does not tell
// when it merges them.
func (l *delayedKeys) pending(now time.Time) (n int, first time.Time) {
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

// Timer is a moment at which a controller will do something by itself.
type Timer struct {
	Controller string    `json:"controller"`
	What       string    `json:"what,omitempty"` // what it is about
	Due        time.Time `json:"due"`
}

// compareTimers puts the first before the later ones.
func compareTimers(a, b Timer) int { return cmp.Or(a.Due.Compare(b.Due), cmp.Compare(a.What, b.What)) }
