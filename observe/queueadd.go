package observe

import (
	"sync/atomic"
	"time"
)

// queueAdd is one add of a key to a work queue. A queue does not expose its keys,
// but it measures how long each key waited. That gives the time of the add, and so
// identifies it.
type queueAdd struct {
	queue       *queue
	number      uint64       // of the queue's adds, from 1
	notBefore   time.Time    // before the queue read the clock
	windowNanos atomic.Int64 // the queue read it within this time after notBefore; 0 = until now
	cause       *delivery    // whose handler added it, if one did
	sync        uint64       // the sync that added it, if one did
	after       *endedSync   // the sync of the queue that started the goroutine which added it, if it had ended
	byTimer     bool         // the queue's timer added it
	key         *inferredKey // of what the timer added; nil if unknown
	taken       atomic.Bool  // a worker has taken its key, most likely
	next        *queueAdd    // of the same delivery, older
}

// sameOrigin reports whether two adds have the same cause.
func (a *queueAdd) sameOrigin(b *queueAdd) bool {
	return a.cause == b.cause && a.sync == b.sync && a.after == nil && b.after == nil && a.byTimer == b.byTimer
}

// addedBy returns the ID of the sync because of which a key was added; 0 if none is known. A goroutine that has outlived its sync
// likely works on for that if it adds the same key.
func (a *queueAdd) addedBy(key string) uint64 {
	if a.after != nil && key != "" && a.after.key == key {
		return a.after.id
	}
	return a.sync
}

// couldBeAt reports whether the queue may have read the clock for this add between
// first and last.
func (a *queueAdd) couldBeAt(first, last time.Time) bool {
	took := a.windowNanos.Load()
	return !a.notBefore.After(last) && (took == 0 || !a.notBefore.Add(time.Duration(took)).Before(first))
}

// keyAdded is called when a key that is not queued yet is added.
func (q *queue) keyAdded() {
	now := time.Now()
	number := uint64(q.adds.Add(1))
	q.total.adds.Add(1)
	q.series.adds.Add(1)
	storeMax(&q.maxDepth, int64(number)-q.gets.Load())
	if q.recorder == nil {
		return
	}
	if before := q.addSlot(number - 1).Load(); before != nil && before.number == number-1 {
		before.windowNanos.CompareAndSwap(0, max(int64(now.Sub(before.notBefore)), 1))
	}
	a := &queueAdd{queue: q, number: number, notBefore: now}
	if s := currentScope(); s != nil {
		if a.byTimer = s == q.createdBy; a.byTimer {
			a.key = q.delayed.takeDue(now)
		}
		if w := s.activeSync(); w != nil {
			a.sync = w.id
			w.hasAdded.Store(true)
		} else if s.run != nil && s.run.queue == q && s.delivery == nil {
			a.after = s.run.ended()
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

// matchAdd finds the add of the key that w works on, from the time that the key
// waited. The queue measured it after w began.
func (q *queue) matchAdd(w *syncRun, waited time.Duration, now time.Time) {
	const rounding = 2 * time.Nanosecond // the queue counts in seconds
	first, last := w.started.Add(-waited-rounding), now.Add(-waited+rounding)
	adds := uint64(q.adds.Load())
	var found *queueAdd
	another := uint64(0) // the last match, if there are several
	one := true          // all matches have the same origin
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
	// If the match is among the oldest adds kept, a dropped add may match as well.
	w.add, w.lastAdd, w.sure = found, another, one && found.number+pendingAdds > adds+addsDuringMeasure
	found.taken.Store(true)
	if another == 0 { // otherwise it may belong to another sync, so keep it
		q.addSlot(found.number).CompareAndSwap(found, nil)
		q.advanceHead(adds)
	}
}

// forgetTakenAdds moves head past all adds if none is pending. One that several syncs may have taken would be searched,
// and match, until as many adds as are kept have followed.
func (q *queue) forgetTakenAdds() {
	matched := q.matched.Load() // before the adds, as one may be made meanwhile
	if adds := q.adds.Load(); matched >= adds {
		q.head.Store(uint64(adds) + 1) //nolint:gosec // not negative
	}
}

// addsDuringMeasure is an upper bound for the adds made while a worker measures.
const addsDuringMeasure = 16

// oldestPending returns the number of the oldest add that may be pending.
func (q *queue) oldestPending(adds uint64) uint64 {
	n := max(q.head.Load(), 1)
	if adds > pendingAdds {
		n = max(n, adds-pendingAdds+1)
	}
	return n
}

// advanceHead moves head to the oldest add whose key has not been taken.
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

// waitingObjects returns up to n objects whose events added the waiting keys,
// oldest first.
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

// delivery is an event whose handler is running, or whose keys are still queued.
type delivery struct {
	object  *Object
	seq     atomic.Uint64 // of its record; 0 until the handler has returned
	adds    atomic.Pointer[queueAdd]
	delayed atomic.Pointer[delayedAdd]

	addsLater atomic.Bool  // a key, with a delay that is not known
	effect    atomic.Int32 // of the syncs of its keys in quiet queues
}

// The values of delivery.effect.
const (
	noEffect      int32 = iota
	hadEffect           // the record of the event names its keys
	effectDecided       // a later effect comes too late for that
)

// delayedAdd is a key that a handler added with a delay.
type delayedAdd struct {
	DelayedKey
	next *delayedAdd
}

func (d *delivery) recordAdd(a *queueAdd) {
	a.next = d.adds.Load()
	for !d.adds.CompareAndSwap(a.next, a) {
		a.next = d.adds.Load()
	}
}

func (d *delivery) recordDelayedAdd(queue string, due time.Time) {
	l := &delayedAdd{DelayedKey: DelayedKey{queue, due}, next: d.delayed.Load()}
	for !d.delayed.CompareAndSwap(l.next, l) {
		l.next = d.delayed.Load()
	}
}

// isIdle reports whether the handler of an event has added no key so far that its record has to name.
func (d *delivery) isIdle(e *Delivered) bool {
	return d.delayed.Load() == nil && !d.addsLater.Load() && !d.hasAdds(e)
}

// hasAdds reports whether the record of an event has to name the keys that were added. That a quiet queue has received
// one says something if it has led to more, as most often deletions do.
func (d *delivery) hasAdds(e *Delivered) bool {
	all := e.Change == Deleted || e.Deleting || d.effect.Load() == hadEffect
	for a := d.adds.Load(); a != nil; a = a.next {
		if all || !a.queue.quiet.Load() {
			return true
		}
	}
	return false
}

// copyAddsTo copies the adds, oldest first, and the delayed keys to an event.
func (d *delivery) copyAddsTo(r *deliveredRecord) {
	e, n := &r.event, 0
	for a := d.adds.Load(); a != nil; a = a.next {
		n++
	}
	switch {
	case n == 1:
		e.Queues, e.Adds = r.queue[:], r.add[:]
	case n > 1:
		e.Queues, e.Adds = make([]string, n), make([]uint64, n)
	}
	for a := d.adds.Load(); a != nil && n > 0; a = a.next {
		n--
		e.Queues[n], e.Adds[n] = a.queue.name, a.number
	}
	for l := d.delayed.Load(); l != nil; l = l.next {
		e.Later = append(e.Later, l.DelayedKey)
	}
}
