package observe

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const maxFailing = 4096 // keys, of all controllers together

type failingKey struct{ controller, queue, key string }

type failure struct {
	FailingKey
	seq       uint64    // of its last record
	due       time.Time // Due or, if that is not known, when the key may be retried at the earliest
	succeeded bool      // a sync of an unknown key has, after due
	over      bool      // the last sync has succeeded, before due: see countEarly
	synced    time.Time // the end of the last sync
	early     int       // last syncs, one soon after the other, that began before due
}

// saysGone reports whether a key failed because its object did not exist, which was deleted. An
// object of another kind may have the same key.
func (w *follower) saysGone(k failingKey) bool {
	removed, deleted := w.gone[k.key]
	name := k.key[strings.LastIndexByte(k.key, '/')+1:]
	return deleted && strings.Contains(w.failures[k].Error, fmt.Sprintf("%s %q not found", removed.resource, name))
}

// isRemoved reports whether the object that a key names was deleted after it has failed. Upstream's controllers do nothing in a retry then
// that may be due late.
func (w *follower) isRemoved(k failingKey) bool {
	removed, deleted := w.gone[k.key]
	if !deleted || w.failures[k].seq > removed.seq {
		return false
	}
	return w.observer.findRecorder(k.controller).keyResource(k.queue) == removed.resource
}

// isPhantom reports whether a key whose retry was due has most likely had it under another name: it is only inferred, and the queue is
// empty.
func (w *follower) isPhantom(k failingKey) bool {
	f := w.failures[k]
	return f.KeyBasis.Inferred() && f.Retried && !f.Due.IsZero() && w.observer.sampler.wasEmpty(queueID{k.controller, k.queue})
}

func (w *follower) followSync(e *Synced, r *Record) {
	if !e.Failed() && len(w.failures) == 0 {
		return
	}
	k := failingKey{e.Controller, e.Queue, e.Key}
	f := w.failures[k]
	due := e.Due
	if f != nil {
		due = f.countEarly(e, r)
	}
	switch {
	case !e.Failed() && f != nil && f.early > 0:
		f.over, f.Times, f.AtLeast = true, 0, false
		return
	case !e.Failed():
		delete(w.failures, k)
		return
	case f == nil:
		if len(w.failures) >= maxFailing {
			w.makeRoom()
		}
		f = &failure{FailingKey: FailingKey{Queue: e.Queue, Key: e.Key}}
		w.failures[k] = f
	}
	f.KeyBasis, f.Error, f.Last, f.Retried, f.Due, f.due = e.KeyBasis, e.Error, r.Time, e.Retried, due, due
	if e.Retried && e.Due.IsZero() {
		f.due = r.Time
	}
	f.seq, f.succeeded, f.over, f.synced = r.Seq, false, false, r.Time
	f.Times++
}

// soonAgain is how soon syncs follow each other that make when a delayed add is due meaningless.
const soonAgain = 5 * time.Second

// countEarly notes whether another sync of a key has begun before its delayed add was due, which the queue keeps then, also
// if the sync succeeds or delays the key by more. It returns when the key is due now. An operator reports that itself.
func (f *failure) countEarly(e *Synced, r *Record) time.Time {
	began := r.Time.Add(-e.Took)
	if r.Time.Sub(f.synced) > soonAgain {
		f.early = 0
	}
	f.synced = r.Time
	if !began.Before(f.Due) {
		f.early = 0
		return e.Due
	}
	f.early++
	if IsReported(e.Controller) || e.Due.IsZero() || e.Due.Before(f.Due) {
		return e.Due
	}
	return f.Due
}

// isEarly reports whether a key is synced again and again before its delayed add is due: one such sync may be all.
func (f *failure) isEarly(now time.Time) bool {
	return f.early > 1 && now.Sub(f.synced) < soonAgain && now.Before(f.Due)
}

// followUnknown follows a sync of an unknown key: it may be a retry of any key of its queue that
// fails and was due.
func (w *follower) followUnknown(e *Synced, r *Record) {
	added := r.Time.Add(-e.Took - e.Waited)
	for k, f := range w.failures {
		switch {
		case f.over || k.controller != e.Controller || k.queue != e.Queue:
		case e.Failed():
			f.AtLeast = true
		case !f.due.IsZero() && !added.Before(f.due):
			f.succeeded = true
		}
	}
}

const (
	// overdue is how late a retry may be of a key whose object was deleted. Not each controller
	// looks at such a key again, as the scheduler does not.
	overdue = 10 * time.Second
	maxGone = 4096
)

// removedKey is the deletion of an object.
type removedKey struct {
	resource string
	seq      uint64 // of the record
}

// followWrites notes which objects were deleted.
func (w *follower) followWrites(wrote []Written, seq uint64) {
	for _, v := range wrote {
		if !v.Deleted && len(w.gone) == 0 {
			continue
		}
		key := Object{Namespace: v.Namespace, Name: v.Name}.Key()
		if !v.Deleted {
			if w.gone[key].resource == v.Resource {
				delete(w.gone, key)
			}
			continue
		}
		if len(w.gone) >= maxGone {
			clear(w.gone)
		}
		w.gone[key] = removedKey{v.Resource, seq}
	}
}

// ForgetFailures forgets the failing keys: all objects were replaced while no controller was
// running.
func (o *Observer) ForgetFailures() {
	o.follower.mu.Lock()
	defer o.follower.mu.Unlock()
	o.follower.update()
	o.follower.forgetFailures(func(failingKey) bool { return true })
}

// ReasonStopped is the reason of a controller that is off because it was stopped manually.
const ReasonStopped = "stopped"

// followState forgets the failing keys of a controller that ends or is started again. Those
// of one that was stopped manually are kept, without a retry: whether they would fail again is not known.
func (w *follower) followState(e *ControllerChanged) {
	delete(w.stopping, e.Controller)
	switch state := e.ProcessState(); {
	case state == StateStopping:
		w.stopping[e.Controller] = true
	case state == StateOff && e.Reason == ReasonStopped:
		for k, f := range w.failures {
			if k.controller == e.Controller {
				f.Retried, f.Due, f.due = false, time.Time{}, time.Time{}
			}
		}
	case state == StateOff, state == StateBuilding:
		w.forgetFailures(func(k failingKey) bool { return k.controller == e.Controller })
	}
}

// forgetFailures forgets the failing keys that a filter selects.
func (w *follower) forgetFailures(which func(failingKey) bool) {
	maps.DeleteFunc(w.failures, func(k failingKey, _ *failure) bool { return which(k) })
}

// makeRoom forgets an eighth of the failing keys of the controller that has the most: those that failed
// longest ago. No controller makes those of others vanish.
func (w *follower) makeRoom() {
	byController := map[string][]failingKey{}
	var most []failingKey
	for k := range w.failures {
		list := append(byController[k.controller], k)
		byController[k.controller] = list
		if len(list) > len(most) {
			most = list
		}
	}
	slices.SortFunc(most, func(a, b failingKey) int { // those that have succeeded since first
		switch x, y := w.failures[a], w.failures[b]; {
		case x.over == y.over:
			return cmp.Compare(x.seq, y.seq)
		case x.over:
			return -1
		}
		return 1
	})
	for _, k := range most[:(len(most)+7)/8] {
		delete(w.failures, k)
	}
}

// maxFailingKeys is how many failing keys of a controller a Snapshot has.
const maxFailingKeys = 10

// limitFailing returns the newest of the failing keys of a controller and those of keys, and how many others there are.
func limitFailing(all []FailingKey, keys []string) (list []FailingKey, more int) {
	n := min(len(all), maxFailingKeys)
	list = all[:n:n]
	for _, f := range all[n:] {
		if slices.Contains(keys, f.Key) {
			list = append(list, f)
		}
	}
	return list, len(all) - len(list)
}

// failingKeys returns the failing keys of each controller, newest first.
func (w *follower) failingKeys(now time.Time) map[string][]FailingKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.update()
	byController := map[string][]FailingKey{}
	for k, f := range w.failures {
		if !f.over {
			key := f.FailingKey
			key.Early = f.isEarly(now)
			byController[k.controller] = append(byController[k.controller], key)
		}
	}
	for _, list := range byController {
		slices.SortFunc(list, func(a, b FailingKey) int { return b.Last.Compare(a.Last) })
	}
	return byController
}
