package observe

import (
	"sync/atomic"
	"time"
)

// work is a sync under way, or over.
type work struct {
	id      uint64
	queue   *queue
	started time.Time
	waited  atomic.Int64 // nanoseconds
	cause   *delivery    // whose add it likely follows; nil if unknown
	over    atomic.Bool

	key           atomic.Pointer[named]
	failure       atomic.Pointer[string] // that its log tells
	refused       atomic.Pointer[string] // what its last failed call met
	retried       atomic.Bool
	reads, writes atomic.Int32
}

type named struct {
	key   string
	basis Basis
}

// name notes a key, unless a surer one is known. Of two that are equally sure
// the first counts.
func (w *work) name(key string, basis Basis) {
	if key == "" {
		return
	}
	n := &named{key, basis}
	for {
		old := w.key.Load()
		if old != nil && rank(old.basis) >= rank(basis) || w.key.CompareAndSwap(old, n) {
			return
		}
	}
}

func rank(b Basis) int {
	switch b {
	case BasisLog:
		return 3
	case BasisCall:
		return 2
	case BasisEvent:
		return 1
	}
	return 0
}

// keyed is the key and how it is known.
func (w *work) keyed() (string, Basis) {
	if n := w.key.Load(); n != nil {
		return n.key, n.basis
	}
	if w.cause != nil {
		return w.cause.object.Key(), BasisEvent
	}
	return "", BasisUnknown
}

func (w *work) synced(took time.Duration) *Synced {
	s := &Synced{
		Queue:   w.queue.name,
		ID:      w.id,
		Waited:  time.Duration(w.waited.Load()),
		Took:    took,
		Retried: w.retried.Load(),
		Reads:   int(w.reads.Load()),
		Writes:  int(w.writes.Load()),
	}
	if w.queue.by != nil {
		s.Controller = w.queue.by.name
	}
	s.Key, s.KeyBasis = w.keyed()
	if w.cause != nil {
		s.Cause = w.cause.seq.Load()
	}
	// A call may fail as expected; that the key is put back says that it was not.
	if f := w.failure.Load(); f != nil {
		s.Error = *f
	} else if f := w.refused.Load(); f != nil && s.Retried {
		s.Error = *f
	}
	return s
}

// delivery is an event while its handler runs, and while keys that it caused wait.
type delivery struct {
	object Object
	seq    atomic.Uint64 // of its record; 0 until the handler has returned
	adds   atomic.Pointer[add]
}

// add is a key that was added to a queue.
type add struct {
	queue *queue
	at    uint64 // the how manieth of the queue
	cause *delivery
	next  *add // of the same delivery, older
}

// queues names the queues that keys were added to, in order.
func (d *delivery) queues() []string {
	n := 0
	for a := d.adds.Load(); a != nil; a = a.next {
		n++
	}
	if n == 0 {
		return nil
	}
	names := make([]string, n)
	for a := d.adds.Load(); a != nil && n > 0; a = a.next {
		n--
		names[n] = a.queue.name
	}
	return names
}
