package observe

import (
	"sync/atomic"
	"time"
)

// queueAdd is a key that was added to a queue. The queue does not tell which key, but
// measures how long each waits: that gives the moment of the add, and so the add.
type queueAdd struct {
	queue       *queue
	number      uint64       // of the queue's adds, from 1
	notBefore   time.Time    // before the queue took the time
	windowNanos atomic.Int64 // nanoseconds after from by which it had; 0 = until now
	cause       *delivery    // whose handler added it, if one did
	sync        uint64       // the sync that added it, if one did
	byTimer     bool         // the queue's timer added it
	taken       atomic.Bool  // a worker has taken its key, most likely
	next        *queueAdd    // of the same delivery, older
}

// sameOrigin says whether two adds come of the same.
func (a *queueAdd) sameOrigin(b *queueAdd) bool {
	return a.cause == b.cause && a.sync == b.sync && a.byTimer == b.byTimer
}

// couldBeAt says whether the queue may have taken the time between two moments.
func (a *queueAdd) couldBeAt(first, last time.Time) bool {
	took := a.windowNanos.Load()
	return !a.notBefore.After(last) && (took == 0 || !a.notBefore.Add(time.Duration(took)).Before(first))
}

// keyAdded is called when a key that did not wait is added.
func (q *queue) keyAdded() {
	now := time.Now()
	number := uint64(q.adds.Add(1))
	q.series.adds.Add(1)
	q.series.depth.Add(1)
	storeMax(&q.maxDepth, int64(number)-q.gets.Load())
	if q.recorder == nil {
		return
	}
	if before := q.addSlot(number - 1).Load(); before != nil && before.number == number-1 {
		before.windowNanos.CompareAndSwap(0, max(int64(now.Sub(before.notBefore)), 1))
	}
	a := &queueAdd{queue: q, number: number, notBefore: now}
	if s := currentScope(); s != nil {
		a.byTimer = s == q.createdBy
		if w := s.activeSync(); w != nil {
			a.sync = w.id
		}
		if a.cause = s.delivery; a.cause != nil {
			a.cause.recordAdd(a)
		}
	}
	q.addSlot(number).Store(a)
}

func (q *queue) addSlot(number uint64) *atomic.Pointer[queueAdd] {
	return &q.pending[number%pendingAdds]
}

// matchAdd finds the add of the key that w has taken, of which the queue says how
// long it waited. It did so after w began.
func (q *queue) matchAdd(w *work, waited time.Duration, now time.Time) {
	const rounding = 2 * time.Nanosecond // the queue counts in seconds
	first, last := w.started.Add(-waited-rounding), now.Add(-waited+rounding)
	adds := uint64(q.adds.Load())
	var found *queueAdd
	another := uint64(0) // the last that fits, if more than one does
	one := true          // all that fit come of the same
	for n := q.oldestPending(adds); n <= adds; n++ {
		a := q.addSlot(n).Load()
		if a == nil || a.number != n {
			continue
		}
		if a.notBefore.After(last) {
			break
		}
		if !a.couldBeAt(first, last) {
			continue
		}
		if found == nil {
			found = a
			continue
		}
		another = n
		one = one && found.sameOrigin(a)
	}
	if found == nil {
		return
	}
	// Next to the oldest that are remembered another may be forgotten that fits.
	w.add, w.lastAdd, w.sure = found, another, one && found.number+pendingAdds > adds+addsDuringMeasure
	found.taken.Store(true)
	if another == 0 { // else it may be another's, for whom it has to stay
		q.addSlot(found.number).CompareAndSwap(found, nil)
		q.advanceHead(adds)
	}
}

// addsDuringMeasure is more adds than are made while a worker measures.
const addsDuringMeasure = 16

// oldestPending is the oldest add that may be pending.
func (q *queue) oldestPending(adds uint64) uint64 {
	n := max(q.head.Load(), 1)
	if adds > pendingAdds {
		n = max(n, adds-pendingAdds+1)
	}
	return n
}

// advanceHead moves on to the oldest add whose key has not been taken.
func (q *queue) advanceHead(adds uint64) {
	n := q.oldestPending(adds)
	for n <= adds {
		if a := q.addSlot(n).Load(); a != nil && a.number == n {
			break
		}
		n++
	}
	q.head.Store(n)
}

// waitingObjects lists causes of the keys that wait, the oldest first, n at most.
func (q *queue) waitingObjects(n int) []Object {
	var list []Object
	next := uint64(q.adds.Load())
	for at := q.oldestPending(next); at <= next && len(list) < n; at++ {
		if a := q.addSlot(at).Load(); a != nil && a.number == at && a.cause != nil && !a.taken.Load() {
			list = append(list, *a.cause.object)
		}
	}
	return list
}

// delivery is an event while its handler runs, and while keys that it caused wait.
type delivery struct {
	object  *Object
	seq     atomic.Uint64 // of its record; 0 until the handler has returned
	adds    atomic.Pointer[queueAdd]
	delayed atomic.Pointer[delayedAdd]
}

// delayedAdd is a key that a handler has put off.
type delayedAdd struct {
	Later
	next *delayedAdd
}

func (d *delivery) recordAdd(a *queueAdd) {
	a.next = d.adds.Load()
	for !d.adds.CompareAndSwap(a.next, a) {
		a.next = d.adds.Load()
	}
}

func (d *delivery) recordDelayedAdd(queue string, due time.Time) {
	l := &delayedAdd{Later: Later{queue, due}, next: d.delayed.Load()}
	for !d.delayed.CompareAndSwap(l.next, l) {
		l.next = d.delayed.Load()
	}
}

// copyAddsTo fills in the keys that were added, in order, and those that were put off.
func (d *delivery) copyAddsTo(e *Delivered) {
	n := 0
	for a := d.adds.Load(); a != nil; a = a.next {
		n++
	}
	if n > 0 {
		e.Queues, e.Adds = make([]string, n), make([]uint64, n)
		for a := d.adds.Load(); a != nil && n > 0; a = a.next {
			n--
			e.Queues[n], e.Adds[n] = a.queue.name, a.number
		}
	}
	for l := d.delayed.Load(); l != nil; l = l.next {
		e.Later = append(e.Later, l.Later)
	}
}
