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
	waited  time.Duration // in the queue
	add     *add          // that it follows; nil if unknown
	last    uint64        // the number of the last add that fits, if several do
	sure    bool          // of what add comes of
	over    atomic.Bool

	key           atomic.Pointer[named]
	failure       atomic.Pointer[string]    // that its log tells
	refused       atomic.Pointer[string]    // what its last failed call met
	retried       atomic.Pointer[time.Time] // when its key is due again; nil if it was not put back
	reads, writes atomic.Int32
}

// show puts w among the syncs that are under way, if there is room.
func (w *work) show(q *queue) {
	for i := range q.running {
		if q.running[i].CompareAndSwap(nil, w) {
			return
		}
	}
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
	if w.add != nil && w.add.cause != nil {
		return w.add.cause.object.Key(), BasisEvent
	}
	return "", BasisUnknown
}

func (w *work) synced(took time.Duration) *Synced {
	s := &Synced{
		Queue:  w.queue.name,
		ID:     w.id,
		Waited: w.waited,
		Took:   took,
		Reads:  int(w.reads.Load()),
		Writes: int(w.writes.Load()),
	}
	if w.queue.by != nil {
		s.Controller = w.queue.by.name
	}
	s.Key, s.KeyBasis = w.keyed()
	if due := w.retried.Load(); due != nil {
		s.Retried, s.Due = true, *due
	}
	if a := w.add; a != nil {
		s.Add, s.LastAdd, s.Timed, s.CauseSync, s.Sure = a.number, w.last, a.timed, a.sync, w.sure
		if a.cause != nil {
			s.Cause = a.cause.seq.Load()
		}
	}
	// A call may fail as expected; that the key is put back says that it was not.
	if f := w.failure.Load(); f != nil {
		s.Error = *f
	} else if f := w.refused.Load(); f != nil && s.Retried {
		s.Error = *f
	}
	return s
}
