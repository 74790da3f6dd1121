package observe

import (
	"sync/atomic"
	"time"
)

const pendingAdds = 512 // adds kept per queue to find the cause of a sync

// queue is a live work queue, or a KeyedQueue or ReportedQueue, which use a part of it. The hooks of a work queue run
// under its own lock, on the goroutine that calls Add, Get or Done. Work queues with the same name and controller share one.
type queue struct {
	name      string
	recorder  *Recorder   // nil if the owner is unknown
	createdBy *scope      // the scope of its creator, which its timer goroutines inherit
	quiet     atomic.Bool // see SkipIdleSyncsOf; false once a sync has failed

	keyResource string // of the objects that keys name; "" if that is not known

	// What happens to keys is counted three times.
	adds, gets, done atomic.Int64 // of this queue, for its depth and its syncs in flight; a ReportedQueue has neither
	total            *queueTotals // of all queues of its name and controller since the start of the process, for status and records
	series           *series      // of all queues of its name, for the metrics workqueue_*; nil if it is not a work queue

	matched  atomic.Int64 // gets whose add was looked for
	maxDepth atomic.Int64 // since the last sample

	delayed delayedKeys
	head    atomic.Uint64 // no older add is pending
	pending [pendingAdds]atomic.Pointer[queueAdd]
	running runningSyncs
}

func (q *queue) depth() int64    { return max(q.adds.Load()-q.gets.Load(), 0) }
func (q *queue) inFlight() int64 { return max(q.gets.Load()-q.done.Load(), 0) }

// keyTaken is called by a worker's goroutine when it takes a key.
func (q *queue) keyTaken() {
	q.gets.Add(1)
	q.total.gets.Add(1)
	if q.recorder == nil {
		return
	}
	outer := currentScope()
	if outer != nil && outer.run != nil {
		outer = outer.run.outer
	}
	w := &struct {
		scope
		syncRun
	}{scope: scope{labels: q.recorder.labels, recorder: q.recorder}}
	w.scope.run, w.outer = &w.syncRun, outer
	w.id, w.queue, w.started = q.recorder.observer.syncs.Add(1), q, time.Now()
	w.scope.enter()
}

// waitMeasured is called right after keyTaken, with the time that the key was queued.
func (q *queue) waitMeasured(d time.Duration) {
	now := time.Now()
	if w := currentScope().activeSync(); w != nil && w.queue == q {
		w.waited = d
		q.matchAdd(w, d, now)
		q.running.add(w)
	}
	q.matched.Add(1)
	q.forgetTakenAdds()
	q.total.wait.observe(d, now)
	q.series.wait.observe(d.Seconds())
}

// keyDone is called when a worker is done with a key, after d.
func (q *queue) keyDone(d time.Duration) {
	now := time.Now()
	q.countDone(d, now)
	s := currentScope()
	w := s.activeSync()
	if w == nil || w.queue != q {
		if w = q.oldestSync(); w == nil {
			return
		}
		s = nil // the sync runs on another goroutine
	}
	w.done.Store(true)
	if delayed := w.delayed.Load(); delayed != nil {
		delayed.release(w)
	}
	q.running.remove(w)
	if s != nil {
		if w.outer != nil {
			w.outer.enter()
		} else {
			newScope(q.recorder).enter()
		}
	}
	if q.quiet.Load() {
		if w.isIdle() {
			q.recorder.countSync(now)
			return
		}
		w.noteEffect()
	}
	synced := w.event(d)
	q.endSync(&synced, now)
}

// countDone counts a sync that has ended, after d.
func (q *queue) countDone(d time.Duration, now time.Time) {
	q.done.Add(1)
	q.total.done.Add(1)
	q.total.work.observe(d, now)
	if q.series != nil {
		q.series.work.observe(d.Seconds())
	}
}

// endSync records a sync that has ended.
func (q *queue) endSync(s *Synced, now time.Time) {
	if s.Retried && s.Failed() {
		q.total.errorRetries.Add(1)
	}
	if s.Failed() {
		q.quiet.Store(false) // that the next one succeeds says something
	}
	q.recorder.recordSync(s, now)
}

// oldestSync returns the sync in flight that began first. It is the best guess for
// the one that ended if the worker passes keys to other goroutines.
func (q *queue) oldestSync() *syncRun {
	var first *syncRun
	for w := range q.running.all() {
		if first == nil || w.id < first.id {
			first = w
		}
	}
	return first
}

// keyRetried is called when a key is added with a delay.
func (q *queue) keyRetried() {
	q.total.retries.Add(1)
	q.series.retries.Add(1)
	d, known, err := delayFromStack()
	if err != nil && q.recorder != nil {
		q.recorder.observer.delayWarning.Do(func() { q.recorder.observer.warn(err, "settled waits a second for every delayed key") })
	}
	if known && d <= 0 {
		return // added at once
	}
	if !known {
		q.noteRetry(time.Time{})
		q.delayed.add(&delayedKey{due: time.Now().Add(assumedDelay)}) // of an unknown key: its timer adds it at another time
		if s := currentScope(); s != nil && s.delivery != nil {
			s.delivery.addsLater.Store(true)
		}
		return
	}
	due := time.Now().Add(d)
	by := q.noteRetry(due)
	delayed := newDelayedKey(due, by)
	if s := currentScope(); s != nil && s.delivery != nil {
		if q.mayName(s.delivery.object) {
			delayed.key.Store(&inferredKey{s.delivery.object.Key(), BasisEvent})
		}
		s.delivery.recordDelayedAdd(q.name, due)
	}
	q.delayed.add(delayed)
	if by != nil {
		by.delayed.Store(delayed)
	}
}

// noteRetry notes that the sync of the calling goroutine, which it returns, has requeued its key. If that is a sync
// of another queue, it has added a key; noteRetry returns nil then.
func (q *queue) noteRetry(due time.Time) *syncRun {
	w := currentScope().activeSync()
	if w == nil {
		return nil
	}
	if w.queue != q {
		w.hasAdded.Store(true)
		return nil
	}
	w.retryDue.Store(&due)
	return w
}

func (q *queue) runningSyncs() []RunningSync {
	var list []RunningSync
	for w := range q.running.all() {
		list = append(list, w.describe())
	}
	return list
}

// endSample returns the queue's numbers and begins the next sample: MaxDepth covers the
// time since the last call.
func (q *queue) endSample() *QueueChanged {
	e := &QueueChanged{
		Controller: q.controllerName(),
		Queue:      q.name,
		InFlight:   q.inFlight(),
		Depth:      q.depth(),
		Done:       q.total.done.Load(),
		Gets:       q.total.gets.Load(),
		Adds:       q.total.adds.Load(),
		Retries:    q.total.retries.Load(),
	}
	e.MaxDepth = max(q.maxDepth.Swap(e.Depth), e.Depth)
	return e
}

// snapshot returns the queue's numbers except those that the sampler fills in.
func (q *queue) snapshot(now time.Time) Queue {
	s := q.countSyncs(now)
	s.Depth, s.Retries, s.Waiting = q.depth(), q.total.retries.Load(), q.waitingObjects(10)
	s.MaxDepth = max(s.Depth, q.maxDepth.Load())
	delayed, due := q.delayed.pendingKeys(now)
	s.Delayed, s.NextDue = int64(delayed), due
	return s
}

// countSyncs returns how many keys were taken and worked on, and for how long.
func (q *queue) countSyncs(now time.Time) Queue {
	s := Queue{
		Name: q.name, Controller: q.controllerName(), InFlight: q.inFlight(),
		Adds: q.total.adds.Load(), Gets: q.total.gets.Load(), Done: q.total.done.Load(), ErrorRetries: q.total.errorRetries.Load(),
		Wait: q.total.wait.summarizeDurations(now), Work: q.total.work.summarizeDurations(now),
	}
	s.Unfinished, s.Longest = q.runningAges(now)
	return s
}

// runningAges returns the ages of the syncs in flight: their sum and the maximum.
func (q *queue) runningAges(now time.Time) (all, longest time.Duration) {
	for w := range q.running.all() {
		age := now.Sub(w.started)
		all += age
		longest = max(longest, age)
	}
	return all, longest
}
