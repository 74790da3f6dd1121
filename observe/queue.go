package observe

import (
	"sync/atomic"
	"time"
)

const (
	pendingAdds = 512 // waiting keys whose cause is remembered, a queue
	runningKeys = 64  // keys in work that are shown, a queue
)

// queue is one work queue while it lives. Its hooks run under the queue's own
// lock, each on the goroutine that adds, gets or is done; queues of one name
// and one controller share it.
type queue struct {
	name   string
	by     *Recorder // nil if its owner is not known
	born   *scope    // what made it: its timers are that goroutine's children
	series *series
	closed atomic.Bool // its controller has ended

	adds, gets, done, retries atomic.Int64
	maxDepth                  atomic.Int64 // since it was last sampled
	wait, work                histogram

	later   later
	head    atomic.Uint64 // no add before it is pending
	pending [pendingAdds]atomic.Pointer[add]
	running [runningKeys]atomic.Pointer[work]
}

func (q *queue) depth() int64    { return max(q.adds.Load()-q.gets.Load(), 0) }
func (q *queue) inFlight() int64 { return max(q.gets.Load()-q.done.Load(), 0) }

// got is called when a worker takes a key; the worker is the calling goroutine.
func (q *queue) got() {
	q.gets.Add(1)
	q.series.depth.Add(-1)
	if q.by == nil {
		return
	}
	outer := current()
	if outer != nil && outer.work != nil {
		outer = outer.outer
	}
	w := &struct {
		scope
		work
	}{scope: scope{labels: q.by.labels, by: q.by, outer: outer}}
	w.scope.work = &w.work
	w.id, w.queue, w.started = q.by.observer.syncs.Add(1), q, time.Now()
	w.scope.enter()
}

// waited is called right after got, with how long the key was in the queue.
func (q *queue) waited(d time.Duration) {
	now := time.Now()
	if w := current().sync(); w != nil && w.queue == q {
		w.waited = d
		q.follow(w, d, now)
		w.show(q)
	}
	q.wait.observe(d, now)
	q.series.wait.observe(d.Seconds())
}

// finished is called when a worker is done with a key after d.
func (q *queue) finished(d time.Duration) {
	now := time.Now()
	q.done.Add(1)
	q.work.observe(d, now)
	q.series.work.observe(d.Seconds())
	s := current()
	w := s.sync()
	if w == nil || w.queue != q {
		if w = q.oldest(); w == nil {
			return
		}
		s = nil // another goroutine's
	}
	w.over.Store(true)
	for i := range q.running {
		if q.running[i].CompareAndSwap(w, nil) {
			break
		}
	}
	if s != nil {
		if s.outer != nil {
			s.outer.enter()
		} else {
			newScope(q.by).enter()
		}
	}
	q.by.synced(w.synced(d), now)
}

// oldest is the sync that began first: what a queue is done with where its
// worker hands keys on to other goroutines.
func (q *queue) oldest() *work {
	var first *work
	for i := range q.running {
		if w := q.running[i].Load(); w != nil && (first == nil || w.id < first.id) {
			first = w
		}
	}
	return first
}

// retried is called when a key is to be added again after a while.
func (q *queue) retried() {
	q.retries.Add(1)
	q.series.retries.Add(1)
	d, known := delay()
	if known && d <= 0 {
		return // it is added at once
	}
	if !known {
		d = unknownDelay
	}
	due := time.Now().Add(d)
	q.later.put(due)
	s := current()
	if w := s.sync(); w != nil && w.queue == q {
		w.retried.Store(&due)
	}
	if s != nil && s.delivery != nil && known {
		s.delivery.putOff(q.name, due)
	}
}

func (q *queue) underWay() []Running {
	var list []Running
	for i := range q.running {
		if w := q.running[i].Load(); w != nil {
			key, basis := w.keyed()
			list = append(list, Running{Queue: q.name, ID: w.id, Key: key, KeyBasis: basis, Since: w.started})
		}
	}
	return list
}

// changed is the queue's numbers now; the highest depth is that since the last call.
func (q *queue) changed() *QueueChanged {
	e := &QueueChanged{
		Controller: q.owner(),
		Queue:      q.name,
		InFlight:   q.inFlight(),
		Depth:      q.depth(),
		Done:       q.done.Load(),
		Gets:       q.gets.Load(),
		Adds:       q.adds.Load(),
		Retries:    q.retries.Load(),
	}
	e.MaxDepth = max(q.maxDepth.Swap(e.Depth), e.Depth)
	return e
}

// snapshot fills in all but what the sampler knows.
func (q *queue) snapshot(now time.Time) Queue {
	s := Queue{
		Name:     q.name,
		InFlight: q.inFlight(),
		Depth:    q.depth(),
		Done:     q.done.Load(),
		Gets:     q.gets.Load(),
		Adds:     q.adds.Load(),
		Retries:  q.retries.Load(),
		Wait:     q.wait.durations(now),
		Work:     q.work.durations(now),
		Waiting:  q.waiting(10),
	}
	delayed, due := q.later.pending(now)
	s.Delayed, s.NextDue = int64(delayed), due
	if q.by != nil {
		s.Controller = q.by.name
	}
	s.Unfinished, s.Longest = q.ages(now)
	return s
}

// ages is for how long keys have been in work: all together, and the longest.
func (q *queue) ages(now time.Time) (all, longest time.Duration) {
	for i := range q.running {
		if w := q.running[i].Load(); w != nil {
			age := now.Sub(w.started)
			all += age
			longest = max(longest, age)
		}
	}
	return all, longest
}
