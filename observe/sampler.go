package observe

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	sampleInterval = time.Second
	maxSamples     = 60   // kept per queue
	rateSamples    = 5    // averaged for a rate
	maxFailing     = 4096 // keys, of all controllers together
)

// sampler reads the counters once a second, for rates and the history. It also
// tracks the failing keys.
type sampler struct {
	observer *Observer

	mu       sync.Mutex // between the sampler and readers; hooks never take it
	queues   map[queueID]*queueHistory
	failures map[failingKey]*failure
	stopping map[string]bool       // controllers, as far as failures were read
	gone     map[string]removedKey // keys of objects that were deleted, as far as failures were read
	ignored  []IgnoredWebhook      // as far as failures were read
	read     uint64                // Seq up to which failures were read
	past     []Process             // the last rateSamples+1
	times    []time.Time

	keyResources sync.Map // queueID → resource: see SetKeyResources

	droppedMu sync.Mutex
	dropped   map[failingKey]uint64 // keys that their queue has forgotten → Seq of the last record before that
}

// removedKey is the deletion of an object.
type removedKey struct {
	resource string
	seq      uint64 // of the record
}

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

// queueHistory has one sample per second, and the counters at the last sample.
type queueHistory struct {
	history []Sample
	last    QueueChanged
	resumed int64 // Queue.Resumed at the last sample
}

// exceeds reports whether the queue had counted more at the last sample: it is another one now.
func (h *queueHistory) exceeds(e *QueueChanged) bool {
	return e.Adds < h.last.Adds || e.Gets < h.last.Gets || e.Done < h.last.Done
}

func newSampler(o *Observer) *sampler {
	s := &sampler{observer: o, queues: map[queueID]*queueHistory{}, failures: map[failingKey]*failure{}, stopping: map[string]bool{}, gone: map[string]removedKey{}, dropped: map[failingKey]uint64{}}
	s.sample()
	return s
}

func (s *sampler) run(ctx context.Context) {
	ticker := time.NewTicker(sampleInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.sample()
		case <-ctx.Done():
			return
		}
	}
}

func (s *sampler) sample() {
	p, more := s.observer.readProcess(), s.observer.moreQueues()
	now := time.Now() // later than the tick if the machine is busy
	s.mu.Lock()
	defer s.mu.Unlock()
	s.past, s.times = append(s.past, p), append(s.times, now)
	if over := len(s.past) - rateSamples - 1; over > 0 {
		s.past, s.times = slices.Delete(s.past, 0, over), slices.Delete(s.times, 0, over)
	}
	seen := map[queueID]bool{}
	for _, q := range s.observer.queues.sorted() {
		if q.recorder == nil || q.recorder.observer == s.observer {
			seen[q.id()] = true
			q.delayed.pendingKeys(now) // forgets those that were due: there may be no other reader
			s.sampleQueue(q.takeSample(), now, 0, q.recorder != nil && q.recorder.skipsIdle.Load())
		}
	}
	for _, v := range more {
		if v.Outside {
			continue
		}
		seen[queueID{v.Controller, v.Name}] = true
		s.sampleQueue(&QueueChanged{Controller: v.Controller, Queue: v.Name, Depth: v.Depth, MaxDepth: v.Depth, InFlight: v.InFlight, Adds: v.Adds, Gets: v.Gets, Done: v.Done}, now, v.Resumed, false)
	}
	for id, h := range s.queues {
		if !seen[id] { // the next run of its controller continues the numbers
			h.history = nil
		}
	}
	s.updateFailures()
}

// fillRates fills in the rates of a process over the last seconds.
func (s *sampler) fillRates(p *Process, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if took := now.Sub(s.times[0]).Seconds(); took > 0 {
		p.RequestRate = float64(p.Requests-s.past[0].Requests) / took
		p.CPUPercent = 100 * (p.CPU - s.past[0].CPU).Seconds() / took
	}
}

// sampleQueue adds a sample, and records it if the numbers have changed; with
// onlyWaiting, only if keys wait.
func (s *sampler) sampleQueue(e *QueueChanged, now time.Time, resumed int64, onlyWaiting bool) {
	id := queueID{e.Controller, e.Queue}
	h := s.queues[id]
	isNew := h == nil || h.exceeds(e)
	if isNew {
		h = &queueHistory{last: QueueChanged{Controller: e.Controller, Queue: e.Queue}}
		s.queues[id] = h
	}
	isLate := !isNew && resumed != h.resumed // it has counted while it was silent
	h.resumed = resumed
	if isFirst := len(s.times) == 1; !isLate && (!isNew || !isFirst && !IsReported(e.Controller)) { // otherwise it may have counted for long
		h.history = append(h.history, Sample{Depth: e.MaxDepth, Adds: e.Adds - h.last.Adds, Done: e.Done - h.last.Done})
	}
	if over := len(h.history) - maxSamples; over > 0 {
		h.history = slices.Delete(h.history, 0, over)
	}
	if *e != h.last {
		h.last = *e
		if !onlyWaiting || e.Depth+e.InFlight > 0 {
			s.observer.append(e, now)
		}
	}
}

// fillQueue fills in the rates and the history of a queue.
func (s *sampler) fillQueue(id queueID, v *Queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.queues[id]
	if h == nil || len(h.history) == 0 {
		return
	}
	recent := h.history[max(len(h.history)-rateSamples, 0):]
	var adds, done int64
	for _, one := range recent {
		adds, done = adds+one.Adds, done+one.Done
	}
	took := s.sampledFor(len(recent)).Seconds()
	v.AddRate, v.DoneRate = float64(adds)/took, float64(done)/took
	v.Peak = max(v.Peak, v.Depth, h.history[len(h.history)-1].Depth)
	if slices.ContainsFunc(h.history, func(one Sample) bool { return one != Sample{} }) {
		v.History = slices.Clone(h.history)
	}
}

// sampledFor returns the time that the last n samples took: longer than usual if the machine was busy.
func (s *sampler) sampledFor(n int) time.Duration {
	took := time.Duration(n) * sampleInterval
	if last := len(s.times) - 1; last >= n {
		took = max(took, s.times[last].Sub(s.times[last-n]))
	}
	return took
}

// updateFailures reads the syncs that ended since the last call.
func (s *sampler) updateFailures() {
	s.read = s.observer.journal.each(s.read, s.followRecord)
	dropped := s.takeDropped()
	s.forgetFailures(func(k failingKey) bool { return s.failures[k].seq <= dropped[k] })
	late := time.Now().Add(-overdue)
	s.forgetFailures(func(k failingKey) bool {
		f := s.failures[k]
		return s.isRemoved(k) || f.due.Before(late) && (f.over || s.saysGone(k) || f.succeeded && !f.AtLeast || s.isPhantom(k))
	})
}

func (s *sampler) followRecord(r *Record) {
	switch e := r.Event.(type) {
	case *ControllerChanged:
		s.followState(e)
	case *callEntry:
		var room [1]Written
		s.followWrites(e.wrote(&room), r.Seq)
		s.noteIgnored(e.webhooks(), r)
	case *Called:
		s.followWrites(e.Wrote, r.Seq)
		s.noteIgnored(e.Webhooks, r)
	case *Synced:
		switch {
		case s.stopping[e.Controller]: // a stop interrupts the syncs that run
		case e.Key == "":
			s.followUnknown(e, r)
		default:
			s.followSync(e, r)
		}
	}
}

// drop notes that a queue has forgotten a key. Hooks call it.
func (s *sampler) drop(k failingKey) {
	s.droppedMu.Lock()
	defer s.droppedMu.Unlock()
	s.dropped[k] = s.observer.journal.all.next.Load()
}

// takeDropped returns the keys that were forgotten before what was read, and when.
func (s *sampler) takeDropped() map[failingKey]uint64 {
	s.droppedMu.Lock()
	defer s.droppedMu.Unlock()
	taken := map[failingKey]uint64{}
	for k, at := range s.dropped {
		if at <= s.read {
			taken[k] = at
			delete(s.dropped, k)
		}
	}
	return taken
}

// saysGone reports whether a key failed because its object did not exist, which was deleted. An
// object of another kind may have the same key.
func (s *sampler) saysGone(k failingKey) bool {
	removed, deleted := s.gone[k.key]
	name := k.key[strings.LastIndexByte(k.key, '/')+1:]
	return deleted && strings.Contains(s.failures[k].Error, fmt.Sprintf("%s %q not found", removed.resource, name))
}

// isRemoved reports whether the object that a key names was deleted after it has failed. Upstream's controllers do nothing in a retry then
// that may be due late.
func (s *sampler) isRemoved(k failingKey) bool {
	removed, deleted := s.gone[k.key]
	if !deleted || s.failures[k].seq > removed.seq {
		return false
	}
	resource, _ := s.keyResources.Load(queueID{k.controller, k.queue})
	return resource == removed.resource
}

// isPhantom reports whether a key whose retry was due has most likely had it under another name: it is only inferred, and the queue is
// empty.
func (s *sampler) isPhantom(k failingKey) bool {
	f, q := s.failures[k], s.queues[queueID{k.controller, k.queue}]
	return f.KeyBasis.Inferred() && f.Retried && !f.Due.IsZero() && q != nil && q.last.Depth+q.last.InFlight == 0
}

func (s *sampler) followSync(e *Synced, r *Record) {
	if !e.Failed() && len(s.failures) == 0 {
		return
	}
	k := failingKey{e.Controller, e.Queue, e.Key}
	f := s.failures[k]
	due := e.Due
	if f != nil {
		due = f.countEarly(e, r)
	}
	switch {
	case !e.Failed() && f != nil && f.early > 0:
		f.over, f.Times, f.AtLeast = true, 0, false
		return
	case !e.Failed():
		delete(s.failures, k)
		return
	case f == nil:
		if len(s.failures) >= maxFailing {
			s.makeRoom()
		}
		f = &failure{FailingKey: FailingKey{Queue: e.Queue, Key: e.Key}}
		s.failures[k] = f
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
func (s *sampler) followUnknown(e *Synced, r *Record) {
	added := r.Time.Add(-e.Took - e.Waited)
	for k, f := range s.failures {
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

// followWrites notes which objects were deleted.
func (s *sampler) followWrites(wrote []Written, seq uint64) {
	for _, w := range wrote {
		if !w.Deleted && len(s.gone) == 0 {
			continue
		}
		key := Object{Namespace: w.Namespace, Name: w.Name}.Key()
		if !w.Deleted {
			if s.gone[key].resource == w.Resource {
				delete(s.gone, key)
			}
			continue
		}
		if len(s.gone) >= maxGone {
			clear(s.gone)
		}
		s.gone[key] = removedKey{w.Resource, seq}
	}
}

// ForgetFailures forgets the failing keys: all objects were replaced while no controller was
// running.
func (o *Observer) ForgetFailures() {
	o.sampler.mu.Lock()
	defer o.sampler.mu.Unlock()
	o.sampler.updateFailures()
	o.sampler.forgetFailures(func(failingKey) bool { return true })
}

// ReasonStopped is the reason of a controller that is off because it was stopped manually.
const ReasonStopped = "stopped"

// followState forgets the failing keys of a controller that ends or is started again. Those
// of one that was stopped manually are kept, without a retry: whether they would fail again is not known.
func (s *sampler) followState(e *ControllerChanged) {
	delete(s.stopping, e.Controller)
	switch state := e.ProcessState(); {
	case state == StateStopping:
		s.stopping[e.Controller] = true
	case state == StateOff && e.Reason == ReasonStopped:
		for k, f := range s.failures {
			if k.controller == e.Controller {
				f.Retried, f.Due, f.due = false, time.Time{}, time.Time{}
			}
		}
	case state == StateOff, state == StateBuilding:
		s.forgetFailures(func(k failingKey) bool { return k.controller == e.Controller })
	}
}

// forgetFailures forgets the failing keys that a filter selects.
func (s *sampler) forgetFailures(which func(failingKey) bool) {
	maps.DeleteFunc(s.failures, func(k failingKey, _ *failure) bool { return which(k) })
}

// makeRoom forgets an eighth of the failing keys of the controller that has the most: those that failed
// longest ago. No controller makes those of others vanish.
func (s *sampler) makeRoom() {
	byController := map[string][]failingKey{}
	var most []failingKey
	for k := range s.failures {
		list := append(byController[k.controller], k)
		byController[k.controller] = list
		if len(list) > len(most) {
			most = list
		}
	}
	slices.SortFunc(most, func(a, b failingKey) int { // those that have succeeded since first
		switch x, y := s.failures[a], s.failures[b]; {
		case x.over == y.over:
			return cmp.Compare(x.seq, y.seq)
		case x.over:
			return -1
		}
		return 1
	})
	for _, k := range most[:(len(most)+7)/8] {
		delete(s.failures, k)
	}
}

// forgetController forgets the failing keys of a controller that was removed.
func (s *sampler) forgetController(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateFailures()
	delete(s.stopping, name)
	maps.DeleteFunc(s.queues, func(id queueID, _ *queueHistory) bool { return id.controller == name })
	s.forgetFailures(func(k failingKey) bool { return k.controller == name })
}

// endQueues ends the history of the queues of a controller that stops, closed among them: what these have counted is nothing that
// the next ones do.
func (s *sampler) endQueues(controller string, closed []*queue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, h := range s.queues {
		if id.controller == controller {
			h.history = nil
		}
	}
	for _, q := range closed {
		s.queues[q.id()] = &queueHistory{last: *q.takeSample()}
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
func (s *sampler) failingKeys(now time.Time) map[string][]FailingKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateFailures()
	byController := map[string][]FailingKey{}
	for k, f := range s.failures {
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
