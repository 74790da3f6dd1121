package observe

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Recorder takes down what one controller does, or another part of the process
// that has work queues. None of its methods holds the caller up.
type Recorder struct {
	name     string
	labels   []label
	observer *Observer

	state   atomic.Pointer[ControllerChanged]
	watched sync.Map // watched resource → nothing
	writes  sync.Map // Write without a count → *atomic.Int64

	writing atomic.Int64 // calls that are not answered yet, without chatter

	delivered, reads, changes, errors, conflicts, syncs, failures atomic.Int64
}

// Do runs f, and what goroutines it starts, as this controller's work. Queues
// that are made meanwhile are its own.
func (r *Recorder) Do(f func()) { runInScope(newScope(r), f) }

// SetState notes the controller's new state.
func (r *Recorder) SetState(state, reason string) {
	if old := r.state.Load(); old != nil && old.State == state && old.Reason == reason {
		return
	}
	e := &ControllerChanged{Controller: r.name, State: state, Reason: reason}
	r.state.Store(e)
	r.observer.append(e, time.Now())
}

// CloseQueues forgets the controller's queues: keys may be left in them that nobody
// will take, and the next life of the controller has queues of the same names.
func (r *Recorder) CloseQueues() {
	r.observer.queues.remove(func(q *queue) bool { return q.recorder == r })
}

// AddWatch notes a resource whose events the controller is given: RESOURCE or RESOURCE.GROUP.
func (r *Recorder) AddWatch(resource string) { r.watched.LoadOrStore(resource, nil) }

// Deliver runs an event handler for d, and takes down which queues it added to.
func (r *Recorder) Deliver(d *Delivered, handler func()) {
	s := &struct {
		scope
		delivery
	}{scope{labels: r.labels, recorder: r}, delivery{object: &d.Object}}
	event := &s.delivery
	s.scope.delivery = event
	began := time.Now()
	runInScope(&s.scope, handler)
	now := time.Now()
	d.Controller, d.Took = r.name, now.Sub(began)
	event.copyAddsTo(d)
	r.delivered.Add(1)
	seq := r.observer.append(d, now)
	event.seq.Store(seq)
	if d.Change != Resynced && d.Change != Listed && d.Object.Resource != "leases" {
		r.observer.markActive(now)
	}
}

// BeginCall notes a call that begins, and returns what is to be called when it has
// been answered and taken down.
func (r *Recorder) BeginCall(c *Called) (ended func()) {
	if !c.IsWrite() || c.IsRoutine() {
		return func() {}
	}
	r.writing.Add(1)
	return func() { r.writing.Add(-1) }
}

// RecordCall takes down an API call that has been answered to the calling goroutine.
func (r *Recorder) RecordCall(c *Called) {
	now := time.Now()
	c.Controller = r.name
	w := currentScope().activeSync()
	if w != nil {
		c.Sync = w.id
	}
	r.countCall(c, w)
	if c.IsWrite() && !c.IsRoutine() {
		r.observer.markActive(now)
	}
	r.observer.append(c, now)
}

func (r *Recorder) countCall(c *Called, w *work) {
	if w != nil && c.Failed() {
		w.callError.Store(&c.Error)
	}
	switch {
	case c.Conflict:
		r.conflicts.Add(1)
	case c.Failed():
		r.errors.Add(1)
	}
	if !c.IsWrite() {
		r.reads.Add(1)
		if w != nil {
			w.reads.Add(1)
			if c.Verb == "get" {
				w.setKey(c.Object.Key(), BasisCall)
			}
		}
		return
	}
	r.changes.Add(1)
	if w != nil {
		w.writes.Add(1)
		if c.Verb != "create" {
			w.setKey(c.Object.Key(), BasisCall)
		}
	}
	what := WriteCount{Verb: c.Verb, Resource: c.Object.groupResource()}
	if c.Subresource != "" {
		what.Resource += "/" + c.Subresource
	}
	n, ok := r.writes.Load(what)
	if !ok {
		n, _ = r.writes.LoadOrStore(what, new(atomic.Int64))
	}
	n.(*atomic.Int64).Add(1)
}

// groupResource is RESOURCE or RESOURCE.GROUP.
func (o Object) groupResource() string {
	if o.Group == "" {
		return o.Resource
	}
	return o.Resource + "." + o.Group
}

// RecordLog takes down a line of the controller's log. key is the key that the
// line says its sync is about, failure what it says that the sync failed with;
// empty if it says no such thing.
func (r *Recorder) RecordLog(l *Logged, key, failure string) {
	l.Controller = r.name
	if w := currentScope().activeSync(); w != nil && w.queue.recorder == r {
		l.Sync = w.id
		w.setKey(key, BasisLog)
		if failure != "" {
			w.loggedError.Store(&failure)
		}
	}
	r.observer.append(l, time.Now())
}

func (r *Recorder) recordSync(s *Synced, now time.Time) {
	r.syncs.Add(1)
	r.observer.markActive(now)
	if s.Failed() {
		r.failures.Add(1)
	}
	r.observer.append(s, now)
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
	}
	if s := r.state.Load(); s != nil {
		c.State, c.Reason = s.State, s.Reason
	}
	r.watched.Range(func(resource, _ any) bool {
		c.Watches = append(c.Watches, resource.(string))
		return true
	})
	slices.Sort(c.Watches)
	r.writes.Range(func(what, n any) bool {
		w := what.(WriteCount)
		w.Count = n.(*atomic.Int64).Load()
		c.Writes = append(c.Writes, w)
		return true
	})
	slices.SortFunc(c.Writes, func(a, b WriteCount) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	return c
}
