package observe

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// dueGrace is how long an overdue delayed key still counts as pending: the
	// queue's timer may be late.
	dueGrace       = 20 * time.Millisecond
	maxTimerDelay  = 250 * time.Millisecond // how late a queue's timer may be
	maxDelayedKeys = 8192                   // delayed keys kept per queue, the soonest
)

// delayedKeys holds the times at which a queue's delayed keys are due. Adding waits for
// no lock; readers serialize on mu.
type delayedKeys struct {
	unsorted atomic.Pointer[delayedKey] // added since the last read, newest first
	added    atomic.Uint64

	mu  sync.Mutex
	due []*delayedKey // in order
}

type delayedKey struct {
	due  time.Time
	by   atomic.Pointer[syncRun]     // that requeued its key, while it runs
	key  atomic.Pointer[inferredKey] // nil if it is not known, or not yet
	over bool                        // the queue's timer has added the key, most likely
	next *delayedKey
}

// newDelayedKey returns a key that a sync, which may be nil, has requeued.
func newDelayedKey(due time.Time, by *syncRun) *delayedKey {
	p := &delayedKey{due: due}
	p.by.Store(by)
	return p
}

// release notes the key of a sync that has ended: the key may be due in ten minutes, for which it would keep the sync and
// what led to it.
func (p *delayedKey) release(by *syncRun) {
	p.key.CompareAndSwap(nil, by.delayedKey())
	p.by.Store(nil)
}

// delayedKey returns the key of the sync as that of a later one, which a timer adds.
func (w *syncRun) delayedKey() *inferredKey {
	key, basis := w.bestKey()
	if basis != BasisEvent {
		basis = BasisTimer
	}
	return &inferredKey{key, basis}
}

func (l *delayedKeys) add(p *delayedKey) {
	p.next = l.unsorted.Load()
	for !l.unsorted.CompareAndSwap(p.next, p) {
		p.next = l.unsorted.Load()
	}
	// An observer reads once a second. Queues outside of its life have no reader.
	if l.added.Add(1)%maxDelayedKeys == 0 && l.mu.TryLock() {
		defer l.mu.Unlock()
		l.sortAdded(time.Now())
	}
}

// sortAdded sorts the keys that were added, and forgets those that are long past. It needs the lock.
func (l *delayedKeys) sortAdded(now time.Time) {
	for p := l.unsorted.Swap(nil); p != nil; {
		next := p.next
		p.next = nil
		if i := l.firstFrom(p.due); i < maxDelayedKeys {
			l.due = slices.Insert(l.due, i, p)
		}
		if len(l.due) > maxDelayedKeys {
			l.due = slices.Delete(l.due, maxDelayedKeys, len(l.due))
		}
		p = next
	}
	l.due = slices.Delete(l.due, 0, l.firstFrom(now.Add(-maxTimerDelay)))
}

// firstFrom returns the index of the first key that is not due before a time. It needs the lock.
func (l *delayedKeys) firstFrom(at time.Time) int {
	i, _ := slices.BinarySearchFunc(l.due, at, func(p *delayedKey, at time.Time) int { return p.due.Compare(at) })
	return i
}

// pendingKeys returns the number of delayed keys and when the first is due; zero if
// there are none. A key delayed twice counts twice: the queue does not report
// that it merges them.
func (l *delayedKeys) pendingKeys(now time.Time) (n int, first time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sortAdded(now)
	pending := l.due[l.firstFrom(now.Add(-dueGrace)):]
	if len(pending) == 0 {
		return 0, time.Time{}
	}
	return len(pending), pending[0].due
}

// takeDue returns the key that the queue's timer adds now, as far as the sync or the event that delayed it tells:
// nil if it may be one of several. The timer adds the keys in the order in which they are due.
func (l *delayedKeys) takeDue(now time.Time) *inferredKey {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sortAdded(now)
	var first *delayedKey
	var key string
	var basis Basis
	for _, p := range l.due {
		switch {
		case p.over, p.due.After(now):
		case first == nil:
			first = p
			key, basis = p.likelyKey()
		case first.due.Before(now.Add(-dueGrace)) && !p.hasKey(key):
			return nil // either the timer is late, or it had no need to add the first one
		}
	}
	if first == nil {
		return nil
	}
	first.over = true
	if key == "" {
		return nil
	}
	for _, p := range l.due { // of several delays of a key, the queue keeps the earliest
		if p.hasKey(key) {
			p.over = true
		}
	}
	return &inferredKey{key, basis}
}

// likelyKey returns the key, as far as it is known.
func (p *delayedKey) likelyKey() (string, Basis) {
	by, k := p.by.Load(), p.key.Load() // in this order: see release
	switch {
	case k != nil:
	case by != nil:
		k = by.delayedKey()
	default:
		return "", BasisUnknown
	}
	return k.key, k.basis
}

func (p *delayedKey) hasKey(key string) bool {
	k, _ := p.likelyKey()
	return key != "" && k == key
}
