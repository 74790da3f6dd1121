package observe

import (
	"sync/atomic"
	"time"
)

// add is a key that was added to a queue. The queue does not tell which key, but
// measures how long each waits: that gives the moment of the add, and so the add.
type add struct {
	queue  *queue
	number uint64       // of the queue's adds, from 1
	from   time.Time    // before the queue took the time
	took   atomic.Int64 // nanoseconds after from by which it had; 0 = until now
	cause  *delivery    // whose handler added it, if one did
	sync   uint64       // the sync that added it, if one did
	timed  bool         // the queue's timer added it
	taken  atomic.Bool  // a worker has taken its key, most likely
	next   *add         // of the same delivery, older
}

// origin says whether two adds come of the same.
func (a *add) origin(b *add) bool {
	return a.cause == b.cause && a.sync == b.sync && a.timed == b.timed
}

// within says whether the queue may have taken the time between two moments.
func (a *add) within(first, last time.Time) bool {
	took := a.took.Load()
	return !a.from.After(last) && (took == 0 || !a.from.Add(time.Duration(took)).Before(first))
}

// added is called when a key that did not wait is added.
func (q *queue) added() {
	now := time.Now()
	number := uint64(q.adds.Add(1))
	q.series.adds.Add(1)
	q.series.depth.Add(1)
	raise(&q.maxDepth, int64(number)-q.gets.Load())
	if q.by == nil {
		return
	}
	if before := q.slot(number - 1).Load(); before != nil && before.number == number-1 {
		before.took.CompareAndSwap(0, max(int64(now.Sub(before.from)), 1))
	}
	a := &add{queue: q, number: number, from: now}
	if s := current(); s != nil {
		a.timed = s == q.born
		if w := s.sync(); w != nil {
			a.sync = w.id
		}
		if a.cause = s.delivery; a.cause != nil {
			a.cause.put(a)
		}
	}
	q.slot(number).Store(a)
}

func (q *queue) slot(number uint64) *atomic.Pointer[add] { return &q.pending[number%pendingAdds] }

// follow finds the add of the key that w has taken, of which the queue says how
// long it waited. It did so after w began.
func (q *queue) follow(w *work, waited time.Duration, now time.Time) {
	const rounding = 2 * time.Nanosecond // the queue counts in seconds
	first, last := w.started.Add(-waited-rounding), now.Add(-waited+rounding)
	adds := uint64(q.adds.Load())
	var found *add
	another := uint64(0) // the last that fits, if more than one does
	one := true          // all that fit come of the same
	for n := q.first(adds); n <= adds; n++ {
		a := q.slot(n).Load()
		if a == nil || a.number != n {
			continue
		}
		if a.from.After(last) {
			break
		}
		if !a.within(first, last) {
			continue
		}
		if found == nil {
			found = a
			continue
		}
		another = n
		one = one && found.origin(a)
	}
	if found == nil {
		return
	}
	// Next to the oldest that are remembered another may be forgotten that fits.
	w.add, w.last, w.sure = found, another, one && found.number+pendingAdds > adds+forgotten
	found.taken.Store(true)
	if another == 0 { // else it may be another's, for whom it has to stay
		q.slot(found.number).CompareAndSwap(found, nil)
		q.pass(adds)
	}
}

// forgotten is more adds than are made while a worker measures.
const forgotten = 16

// first is the oldest add that may be pending.
func (q *queue) first(adds uint64) uint64 {
	n := max(q.head.Load(), 1)
	if adds > pendingAdds {
		n = max(n, adds-pendingAdds+1)
	}
	return n
}

// pass moves on to the oldest add whose key has not been taken.
func (q *queue) pass(adds uint64) {
	n := q.first(adds)
	for n <= adds {
		if a := q.slot(n).Load(); a != nil && a.number == n {
			break
		}
		n++
	}
	q.head.Store(n)
}

// waiting lists causes of the keys that wait, the oldest first, n at most.
func (q *queue) waiting(n int) []Object {
	var list []Object
	next := uint64(q.adds.Load())
	for at := q.first(next); at <= next && len(list) < n; at++ {
		if a := q.slot(at).Load(); a != nil && a.number == at && a.cause != nil && !a.taken.Load() {
			list = append(list, *a.cause.object)
		}
	}
	return list
}

// delivery is an event while its handler runs, and while keys that it caused wait.
type delivery struct {
	object *Object
	seq    atomic.Uint64 // of its record; 0 until the handler has returned
	adds   atomic.Pointer[add]
	later  atomic.Pointer[delayedAdd]
}

// delayedAdd is a key that a handler has put off.
type delayedAdd struct {
	Later
	next *delayedAdd
}

func (d *delivery) put(a *add) {
	a.next = d.adds.Load()
	for !d.adds.CompareAndSwap(a.next, a) {
		a.next = d.adds.Load()
	}
}

func (d *delivery) putOff(queue string, due time.Time) {
	l := &delayedAdd{Later: Later{queue, due}, next: d.later.Load()}
	for !d.later.CompareAndSwap(l.next, l) {
		l.next = d.later.Load()
	}
}

// tell fills in the keys that were added, in order, and those that were put off.
func (d *delivery) tell(e *Delivered) {
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
	for l := d.later.Load(); l != nil; l = l.next {
		e.Later = append(e.Later, l.Later)
	}
}
