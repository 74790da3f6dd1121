package observe

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Recorder records what one controller does, or another component of the process
// that has work queues. Its methods never block. Those of a nil Recorder record
// nothing, so its users need not check whether anything observes them; but for what
// another process reports there is always one.
type Recorder struct {
	name     string
	labels   []label
	observer *Observer
	number   int // of the observer's first recorders, from 0; maxNumbered for the others

	state        atomic.Pointer[controllerState]
	aliases      atomic.Pointer[[]string]
	watched      sync.Map // set of resources
	watchedCount atomic.Int64
	writes       growingMap[writtenKind, atomic.Int64]

	skipsIdle   atomic.Bool              // see SkipIdleSyncs
	quietQueues atomic.Pointer[[]string] // see SkipIdleSyncsOf

	keyResources atomic.Pointer[map[string]string] // see SetKeyResources

	keyed  sync.Map // name → *KeyedQueue
	totals sync.Map // name of a queue → *queueTotals

	writing atomic.Int64 // writes without an answer, except of Leases and Events

	delivered, reads, changes, errors, conflicts, syncs, failures atomic.Int64
	startConflicts, startFailures                                 atomic.Int64 // see MarkStartEnd
}

// Do runs f, and the goroutines that f starts, as work of this controller. The
// queues that they create belong to it. With a nil Recorder, Do just runs f.
func (r *Recorder) Do(f func()) {
	if r == nil {
		f()
		return
	}
	runInScope(newScope(r), f)
}

// SetState records the controller's new state.
func (r *Recorder) SetState(state ControllerChanged) { r.SetStateSince(state, time.Now()) }

// SetStateSince records the controller's new state, which began earlier than it was noticed. Another reason does not begin
// another state, nor does an intervention while the process does not run.
func (r *Recorder) SetStateSince(state ControllerChanged, since time.Time) {
	if r == nil {
		return
	}
	state.Controller = r.name
	old := r.state.Load()
	if old != nil && old.ControllerChanged == state {
		return
	}
	if old != nil && old.ProcessState() == state.ProcessState() {
		since = old.since
	}
	s := &controllerState{state, since}
	r.state.Store(s)
	r.observer.append(&s.ControllerChanged, time.Now())
}

// controllerState is a state of a controller, and when it began.
type controllerState struct {
	ControllerChanged
	since time.Time
}

// SetAliases sets the other names by which users call the controller.
func (r *Recorder) SetAliases(names []string) {
	if r != nil {
		r.aliases.Store(&names)
	}
}

// CloseQueues removes the controller's queues when it stops: they may still hold
// keys, and after a restart the controller has queues with the same names, which go on counting.
func (r *Recorder) CloseQueues() {
	if r == nil {
		return
	}
	closed := r.observer.queues.remove(func(q *queue) bool { return q.recorder == r })
	r.keyed.Clear()
	r.observer.sampler.endQueues(r.name, closed)
}

// maxKinds is how many watched resources, and how many kinds of writes, of a controller are
// known. What another process reports may have any name.
const maxKinds = 1000

// AddWatch records that the controller receives events of a resource, RESOURCE or
// RESOURCE.GROUP.
func (r *Recorder) AddWatch(resource string) {
	if r == nil || r.watchedCount.Load() >= maxKinds {
		return
	}
	if _, known := r.watched.LoadOrStore(resource, nil); !known {
		r.watchedCount.Add(1)
	}
}

// Deliver runs an event handler for d, which it does not keep, and records it with the keys that
// the handler added. It returns when the handler returned. With a nil Recorder, Deliver just runs the handler.
func (r *Recorder) Deliver(d *Delivered, handler func()) (end time.Time) {
	if r == nil {
		handler()
		return end
	}
	began := r.observer.elapsed()
	shared := r.observer.idle.find(d, began)
	var own *deliveredRecord
	s := &struct {
		scope
		delivery
	}{scope: scope{labels: r.labels, recorder: r}}
	if shared != nil {
		s.delivery.object = &shared.Event.(*Delivered).Object
	} else {
		own = newDeliveredRecord(d)
		s.delivery.object = &own.event.Object
	}
	s.scope.delivery = &s.delivery
	runInScope(&s.scope, handler)
	now := time.Now()
	r.delivered.Add(1)
	if d.Change != Resynced && d.Change != Listed && !d.Object.IsLease() {
		r.markActive(now)
	}
	s.delivery.effect.CompareAndSwap(noEffect, effectDecided)
	isIdle := s.delivery.isIdle(d)
	if shared != nil {
		if isIdle && r.observer.canShare(shared, r, began, now) && shared.idle.add(r) {
			s.delivery.seq.Store(shared.Seq)
			return now
		}
		own = newDeliveredRecord(d)
	}
	own.Time, own.event.Controller, own.event.Took = now, r.name, now.Sub(began)
	if !isIdle {
		s.delivery.copyAddsTo(own)
	} else if d.ResourceVersion != "" {
		own.room.observer = r.observer
		own.idle = &own.room
	}
	s.delivery.seq.Store(r.observer.journal.append(&own.Record))
	if own.idle != nil {
		r.observer.idle.put(&own.Record)
	}
	return now
}

// Call runs send, which makes the API call c and fills in its answer, and records a copy of c.
// What the storage writes meanwhile, in the goroutines that serve the call, is
// recorded with it: see BeginWrite. If the call has failed while the storage still writes, as when
// the controller is stopped, it is recorded when that has ended. With a nil Recorder, Call just runs send.
func (r *Recorder) Call(c *Called, send func()) {
	if r == nil {
		send()
		return
	}
	if c.IsWrite() && !c.IsRoutine() { // also a request for a token: nothing else says that a simulated Pod waits for it
		r.writing.Add(1)
		defer r.writing.Add(-1)
	}
	s := &struct {
		scope
		callRun
	}{scope: scope{labels: r.labels, recorder: r}}
	s.call = &s.callRun
	if current := currentScope(); current != nil && current.recorder == r {
		s.run, s.delivery = current.run, current.delivery
	}
	runInScope(&s.scope, send)
	c.AddWebhooks(s.callRun.notedWebhooks())
	if c.MayStillWrite() {
		r.recordUnfinishedCall(c, &s.callRun)
		return
	}
	c.Wrote, _ = s.callRun.end(nil)
	r.RecordCall(c)
}

// recordUnfinishedCall records a copy of a call that has failed, once no write of it is in flight. Until
// then the controller counts as writing.
func (r *Recorder) recordUnfinishedCall(c *Called, run *callRun) {
	record := r.newRecord(c)
	r.writing.Add(1)
	finish := func(wrote []Written) {
		record.entry.setWrote(wrote)
		r.observer.journal.append(&record.Record)
		r.writing.Add(-1)
	}
	if wrote, ended := run.end(finish); ended {
		c.Wrote = wrote
		finish(wrote)
	}
}

// RecordCall records a copy of an API call of the calling goroutine that has been answered. If it names
// another Controller, it belongs to no sync.
func (r *Recorder) RecordCall(answered *Called) {
	if r != nil {
		r.observer.journal.append(&r.newRecord(answered).Record)
	}
}

// newRecord counts a call of the calling goroutine and returns a record of it.
func (r *Recorder) newRecord(answered *Called) *callRecord {
	copied, now := *answered, time.Now()
	c := &copied
	s := currentScope()
	w := s.activeSync()
	c.Controller = cmp.Or(c.Controller, r.name)
	switch {
	case c.Controller != r.name:
		w = nil
	case w != nil:
		c.Sync = w.id
	case s != nil && s.run != nil && s.recorder == r:
		c.AfterSync = s.run.id
	}
	r.countCall(c, w)
	if c.IsWrite() && !c.IsRoutine() {
		r.markActive(now)
	}
	return r.observer.newCallRecord(c, now)
}

func (r *Recorder) countCall(c *Called, w *syncRun) {
	failed := c.IsFailure()
	if w != nil {
		w.noteCall(c, failed)
	}
	switch {
	case c.Conflict:
		r.conflicts.Add(1)
	case failed:
		r.errors.Add(1)
	}
	if !c.IsWrite() {
		r.reads.Add(1)
		if w != nil {
			w.reads.Add(1)
			if c.Verb == "get" {
				w.inferKey(c)
			}
		}
		return
	}
	r.changes.Add(1)
	if w != nil {
		w.writes.Add(1)
		if c.Verb != "create" {
			w.inferKey(c)
		}
	}
	if n := r.writes.getUpTo(maxKinds, writtenKind{c.Verb, c.Object.Group, c.Object.Resource, c.Subresource}); n != nil {
		n.Add(1)
	}
}

// writtenKind is what a WriteCount counts.
type writtenKind struct{ verb, group, resource, subresource string }

func (k writtenKind) count(n int64) WriteCount {
	resource := Object{Group: k.group, Resource: k.resource}.GroupResource()
	if k.subresource != "" {
		resource += "/" + k.subresource
	}
	return WriteCount{Verb: k.verb, Resource: resource, Count: n}
}

// RecordLog records a copy of a line of the controller's log. key and failure are the key of
// the current sync and the error that it failed with, if the line has them.
func (r *Recorder) RecordLog(l *Logged, key, failure string) {
	if r == nil {
		return
	}
	l.Controller = r.name
	if w := currentScope().activeSync(); w != nil && w.queue.recorder == r {
		l.Sync = w.id
		w.hasLogged.Store(true)
		w.setKey(key, BasisLog)
		if failure != "" {
			w.loggedError.Store(&failure)
		}
	}
	r.observer.journal.append(newLoggedRecord(l, time.Now()))
}

// NameSync sets the key of the controller's sync that the calling goroutine works on, as its log
// names it.
func (r *Recorder) NameSync(key string) {
	if r == nil {
		return
	}
	if w := currentScope().activeSync(); w != nil && w.queue.recorder == r {
		w.setKey(key, BasisLog)
	}
}

// SkipIdleSyncs leaves out the records of syncs that no event caused and that changed
// nothing, unless one has failed: the API server requeues its own keys all the time.
func (r *Recorder) SkipIdleSyncs() {
	if r != nil {
		r.skipsIdle.Store(true)
	}
}

// SkipIdleSyncsOf leaves out, of queues to which the controller adds keys with events from which most often nothing
// follows, the records of the syncs that have done nothing: no call, no add of a key and no line of the log. The events
// name these adds only of deletions, or if the sync has had an effect by the end of the handler. It applies to each
// queue that is created after it, until a sync of the queue fails.
func (r *Recorder) SkipIdleSyncsOf(queues ...string) {
	if r != nil {
		r.quietQueues.Store(&queues)
	}
}

func (r *Recorder) isQuiet(queue string) bool {
	if r == nil {
		return false
	}
	names := r.quietQueues.Load()
	return names != nil && slices.Contains(*names, queue)
}

// countSync counts a sync that has ended.
func (r *Recorder) countSync(now time.Time) {
	r.syncs.Add(1)
	r.markActive(now)
}

func (r *Recorder) recordSync(s *Synced, now time.Time) {
	r.countSync(now)
	if s.Failed() {
		r.failures.Add(1)
	} else if r.failures.Load() == 0 && r.skipsIdle.Load() && s.Cause == 0 && s.Writes == 0 {
		return
	}
	r.observer.journal.append(newSyncedRecord(s, now))
}

// keyedSyncs returns the syncs in flight of the recorder's KeyedQueues.
func (r *Recorder) keyedSyncs() (list []RunningSync) {
	r.keyed.Range(func(_, k any) bool {
		list = append(list, k.(*KeyedQueue).queue.runningSyncs()...)
		return true
	})
	return list
}

func (r *Recorder) snapshot() Controller {
	c := Controller{
		Name:      r.name,
		Delivered: r.delivered.Load(),
		Reads:     r.reads.Load(),
		Changes:   r.changes.Load(),
		Errors:    r.errors.Load(),
		Conflicts: r.conflicts.Load(),
		Syncs:     r.syncs.Load(),
		Failures:  r.failures.Load(),
		Writing:   r.writing.Load(),

		StartConflicts: r.startConflicts.Load(),
		StartFailures:  r.startFailures.Load(),
	}
	if s := r.state.Load(); s != nil {
		c.State, c.Reason, c.Interventions, c.Process, c.Gone, c.Since = s.State, s.Reason, s.Interventions, s.Process, s.Gone, s.since
	}
	if names := r.aliases.Load(); names != nil {
		c.Aliases = *names
	}
	r.watched.Range(func(resource, _ any) bool {
		c.Watches = append(c.Watches, resource.(string))
		return true
	})
	slices.Sort(c.Watches)
	for kind, n := range r.writes.entries() {
		c.Writes = append(c.Writes, kind.count(n.Load()))
	}
	slices.SortFunc(c.Writes, func(a, b WriteCount) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return c
}
