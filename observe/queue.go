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
	timed                     atomic.Int64 // adds that its timers made
	maxDepth                  atomic.Int64 // since it was last sampled
	wait, work                histogram

	pending [pendingAdds]atomic.Pointer[add]
	running [runningKeys]atomic.Pointer[work]
}

func (q *queue) depth() int64    { return max(q.adds.Load()-q.gets.Load(), 0) }
func (q *queue) inFlight() int64 { return max(q.gets.Load()-q.done.Load(), 0) }

// added is called when a key that did not wait is added.
func (q *queue) added() {
	at := q.adds.Add(1) - 1
	q.series.adds.Add(1)
	q.series.depth.Add(1)
	raise(&q.maxDepth, int64(at)+1-q.gets.Load())
	s := current()
	if s == nil {
		return
	}
	if s == q.born {
		q.timed.Add(1)
	}
	if s.delivery == nil {
		return
	}
	a := &add{queue: q, at: uint64(at), cause: s.delivery, next: s.delivery.adds.Load()}
	for !s.delivery.adds.CompareAndSwap(a.next, a) {
		a.next = s.delivery.adds.Load()
	}
	q.pending[a.at%pendingAdds].Store(a)
}

// got is called when a worker takes a key; the worker is the calling goroutine.
func (q *queue) got() {
	at := uint64(q.gets.Add(1) - 1)
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
	if a := q.pending[at%pendingAdds].Load(); a != nil && a.at == at {
		w.cause = a.cause
		q.pending[at%pendingAdds].CompareAndSwap(a, nil)
	}
	for i := range q.running {
		if q.running[i].CompareAndSwap(nil, &w.work) {
			break
		}
	}
	w.scope.enter()
}

// waited is called right after got, with how long the key was in the queue.
func (q *queue) waited(d time.Duration) {
	q.wait.observe(d, time.Now())
	q.series.wait.observe(d.Seconds())
	if w := current().sync(); w != nil && w.queue == q {
		w.waited.Store(int64(d))
	}
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
	if w := current().sync(); w != nil && w.queue == q {
		w.retried.Store(true)
	}
}

// waiting lists causes of the keys that wait, the oldest first, n at most.
func (q *queue) waiting(n int) []Object {
	var list []Object
	first, next := uint64(q.gets.Load()), uint64(q.adds.Load())
	for at := first; at < next && at < first+pendingAdds && len(list) < n; at++ {
		if a := q.pending[at%pendingAdds].Load(); a != nil && a.at == at {
			list = append(list, a.cause.object)
		}
	}
	return list
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
	// Each retry ends in an add by a timer, or in none if the key waits by then.
	s.Delayed = max(s.Retries-q.timed.Load(), 0)
	if q.by != nil {
		s.Controller = q.by.name
	}
	for _, r := range q.underWay() {
		age := now.Sub(r.Since)
		s.Unfinished += age
		s.Longest = max(s.Longest, age)
	}
	return s
}
