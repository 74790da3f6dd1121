package observe

import (
	"sync"
	"time"
)

// follower reads the journal for what follows from several records: the keys that fail and the webhooks that were ignored.
type follower struct {
	observer *Observer

	mu       sync.Mutex // between readers; hooks never take it
	next     uint64     // Seq up to which records were read, which holds for the following
	failures map[failingKey]*failure
	stopping map[string]bool       // controllers
	gone     map[string]removedKey // keys of objects that were deleted
	ignored  []IgnoredWebhook

	droppedMu sync.Mutex
	dropped   map[failingKey]uint64 // keys that their queue has forgotten → Seq of the last record before that
}

func newFollower(o *Observer) *follower {
	return &follower{observer: o, failures: map[failingKey]*failure{}, stopping: map[string]bool{}, gone: map[string]removedKey{}, dropped: map[failingKey]uint64{}}
}

// read reads the records since the last call, before the rings drop them.
func (w *follower) read() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.update()
}

// update is read for a caller that holds the lock.
func (w *follower) update() {
	w.next = w.observer.journal.each(w.next, w.followRecord)
	dropped := w.takeDropped()
	w.forgetFailures(func(k failingKey) bool { return w.failures[k].seq <= dropped[k] })
	late := time.Now().Add(-overdue)
	w.forgetFailures(func(k failingKey) bool {
		f := w.failures[k]
		return w.isRemoved(k) || f.due.Before(late) && (f.over || w.saysGone(k) || f.succeeded && !f.AtLeast || w.isPhantom(k))
	})
}

func (w *follower) followRecord(r *Record) {
	switch e := r.Event.(type) {
	case *ControllerChanged:
		w.followState(e)
	case *callEntry:
		var room [1]Written
		w.followWrites(e.wrote(&room), r.Seq)
		w.noteIgnored(e.webhooks(), r)
	case *Called:
		w.followWrites(e.Wrote, r.Seq)
		w.noteIgnored(e.Webhooks, r)
	case *Synced:
		switch {
		case w.stopping[e.Controller]: // a stop interrupts the syncs that run
		case e.Key == "":
			w.followUnknown(e, r)
		default:
			w.followSync(e, r)
		}
	}
}

// drop notes that a queue has forgotten a key. Hooks call it.
func (w *follower) drop(k failingKey) {
	w.droppedMu.Lock()
	defer w.droppedMu.Unlock()
	w.dropped[k] = w.observer.journal.all.next.Load()
}

// takeDropped returns the keys that were forgotten before what was read, and when.
func (w *follower) takeDropped() map[failingKey]uint64 {
	w.droppedMu.Lock()
	defer w.droppedMu.Unlock()
	taken := map[failingKey]uint64{}
	for k, at := range w.dropped {
		if at <= w.next {
			taken[k] = at
			delete(w.dropped, k)
		}
	}
	return taken
}

// forgetController forgets the failing keys of a controller that was removed.
func (w *follower) forgetController(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.update()
	delete(w.stopping, name)
	w.forgetFailures(func(k failingKey) bool { return k.controller == name })
}
