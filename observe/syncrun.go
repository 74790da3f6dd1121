package observe

import (
	"runtime"
	"sync/atomic"
	"time"
)

// syncRun is a sync in flight or a finished one.
type syncRun struct {
	id      uint64
	queue   *queue
	outer   *scope // of its goroutine before it
	started time.Time
	waited  time.Duration // in the queue
	add     *queueAdd     // that queued the key; nil if unknown
	lastAdd uint64        // number of the last matching add, if there are several
	sure    bool          // the cause of add is certain
	done    atomic.Bool
	hadTurn atomic.Bool // see SyncTurn
	waits   atomic.Bool // it has not begun its work: see SyncTurn

	hasAdded, hasLogged atomic.Bool

	delayed atomic.Pointer[delayedKey] // with which it has requeued its key last

	key           atomic.Pointer[inferredKey]
	loggedError   atomic.Pointer[string]    // from its log
	failedCall    atomic.Pointer[Called]    // the last one, unless it has succeeded since
	retryDue      atomic.Pointer[time.Time] // when its key is due again, zero if that is not known; nil if it was not requeued
	reads, writes atomic.Int32
}

// endedSync identifies a sync that has ended.
type endedSync struct {
	id  uint64
	key string
}

func (w *syncRun) ended() *endedSync {
	key, _ := w.bestKey()
	return &endedSync{w.id, key}
}

type inferredKey struct {
	key   string
	basis Basis
}

// inferKey takes the object of a call for the key, if nothing better is known. What an autoscaler
// scales is not its key.
func (w *syncRun) inferKey(c *Called) {
	if c.Subresource == "scale" || !w.queue.mayName(&c.Object) {
		return
	}
	if known := w.key.Load(); known == nil || basisRank(known.basis) < basisRank(BasisCall) {
		w.setKey(c.Object.Key(), BasisCall)
	}
}

// noteCall notes a call that has failed, or that a write has succeeded after another call for the same has
// failed: as after a conflict, or the creation of what was not found.
func (w *syncRun) noteCall(c *Called, failed bool) {
	before := w.failedCall.Load()
	switch {
	case failed:
		kept := *c // c itself is not kept
		w.failedCall.Store(&kept)
	case before != nil && c.IsWrite() && c.Subresource == before.Subresource && c.Object.Name != "" && c.Object.Same(before.Object):
		w.failedCall.CompareAndSwap(before, nil)
	}
}

// setKey sets the key, unless it is known on the same or a better basis.
func (w *syncRun) setKey(key string, basis Basis) {
	if key == "" {
		return
	}
	n := &inferredKey{key, basis}
	for {
		old := w.key.Load()
		if old != nil && basisRank(old.basis) >= basisRank(basis) || w.key.CompareAndSwap(old, n) {
			return
		}
	}
}

func basisRank(b Basis) int {
	switch b {
	case BasisQueue:
		return 5
	case BasisLog:
		return 4
	case BasisCall:
		return 3
	case BasisTimer:
		return 2
	case BasisEvent:
		return 1
	}
	return 0
}

// isIdle reports whether the sync has done nothing that a record may show or refer to.
func (w *syncRun) isIdle() bool {
	return !w.hasAdded.Load() && !w.hasLogged.Load() && w.reads.Load() == 0 && w.writes.Load() == 0 &&
		w.retryDue.Load() == nil && w.loggedError.Load() == nil && w.failedCall.Load() == nil
}

// noteEffect tells the event that has added the key that this had an effect. If it is too late for the record of
// the event to name the key, the record of the sync has to refer to that of the event, which is being appended.
func (w *syncRun) noteEffect() {
	if w.add == nil || w.add.cause == nil || w.add.cause.effect.CompareAndSwap(noEffect, hadEffect) {
		return
	}
	for d := w.add.cause; d.effect.Load() == effectDecided && d.seq.Load() == 0; {
		runtime.Gosched()
	}
}

// describe returns the sync as a snapshot shows it.
func (w *syncRun) describe() RunningSync {
	key, basis := w.bestKey()
	return RunningSync{Queue: w.queue.name, ID: w.id, Key: key, KeyBasis: basis, Since: w.started, Waits: w.waits.Load()}
}

// bestKey returns the key and how it is known.
func (w *syncRun) bestKey() (string, Basis) {
	if n := w.key.Load(); n != nil {
		return n.key, n.basis
	}
	switch {
	case w.add == nil:
	case w.add.cause != nil && w.queue.mayName(w.add.cause.object):
		return w.add.cause.object.Key(), BasisEvent
	case w.add.key != nil && w.lastAdd == 0:
		return w.add.key.key, w.add.key.basis
	}
	return "", BasisUnknown
}

func (w *syncRun) event(took time.Duration) Synced {
	s := Synced{
		Queue:  w.queue.name,
		ID:     w.id,
		Waited: w.waited,
		Took:   took,
		Reads:  int(w.reads.Load()),
		Writes: int(w.writes.Load()),
	}
	if w.queue.recorder != nil {
		s.Controller = w.queue.recorder.name
	}
	s.Key, s.KeyBasis = w.bestKey()
	if due := w.retryDue.Load(); due != nil {
		s.Retried, s.Due = true, *due
	}
	if a := w.add; a != nil {
		s.Add, s.LastAdd, s.Timed, s.CauseSync, s.Sure = a.number, w.lastAdd, a.byTimer, a.addedBy(s.Key), w.sure
		if s.CauseSync != a.sync { // a goroutine that lives on may have another reason
			s.Sure = false
		}
		if a.cause != nil {
			s.Cause = a.cause.seq.Load()
		}
	}
	// A controller may expect a call to fail. It did not if it requeues the key.
	if f := w.loggedError.Load(); f != nil {
		s.Error = *f
	} else if f := w.failedCall.Load(); f != nil && s.Retried {
		s.Error = f.Error
	}
	return s
}
