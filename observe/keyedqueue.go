package observe

import "time"

// KeyedQueue records the work of a queue that is not client-go's and whose keys are
// known, so that the cause of each sync is certain. The methods of a nil KeyedQueue,
// and of what it returns, record nothing.
type KeyedQueue struct{ queue *queue }

// KeyedQueue returns the recorder's queue of that name, the same until CloseQueues.
func (r *Recorder) KeyedQueue(name string) *KeyedQueue {
	if r == nil {
		return nil
	}
	k, ok := r.keyed.Load(name)
	if !ok {
		k, _ = r.keyed.LoadOrStore(name, &KeyedQueue{&queue{name: name, recorder: r, total: r.totalsOf(name)}})
	}
	return k.(*KeyedQueue)
}

// QueuedKey is a key that was added to a KeyedQueue.
type QueuedKey struct {
	due time.Time // when it may be taken; zero = at once
	add queueAdd
}

// Add records that the calling goroutine adds a key: the handler of an event, or a
// sync. due is when the key may be taken; zero means at once.
func (k *KeyedQueue) Add(due time.Time) *QueuedKey {
	if k == nil {
		return nil
	}
	added := &QueuedKey{due: due}
	k.queue.total.adds.Add(1)
	added.add.queue, added.add.number, added.add.notBefore = k.queue, uint64(k.queue.adds.Add(1)), time.Now()
	if s := currentScope(); s != nil && s.recorder == k.queue.recorder {
		if run := s.activeSync(); run != nil {
			added.add.sync = run.id
		}
		if added.add.cause = s.delivery; s.delivery != nil {
			s.delivery.recordAdd(&added.add)
		}
	}
	return added
}

// After says that the key is added because of an earlier sync, unless the add itself
// shows why.
func (a *QueuedKey) After(s *KeyedSync) {
	if a != nil && s != nil && a.add.sync == 0 && a.add.cause == nil {
		a.add.sync = s.run.id
	}
}

// Because says that the key is added because of what an earlier one was added for, unless the
// add itself shows why.
func (a *QueuedKey) Because(earlier *QueuedKey) {
	if a != nil && earlier != nil && a.add.sync == 0 && a.add.cause == nil {
		a.add.sync, a.add.cause = earlier.add.sync, earlier.add.cause
	}
}

// KeyedSync is a sync of a key of a KeyedQueue. It is recorded when it ends.
type KeyedSync struct {
	scope scope
	run   syncRun
}

// Begin begins the sync of a key. added is its add, nil if that is not known.
func (k *KeyedQueue) Begin(key string, added *QueuedKey) *KeyedSync {
	if k == nil {
		return nil
	}
	q := k.queue
	q.gets.Add(1)
	q.total.gets.Add(1)
	s := &KeyedSync{}
	s.scope = scope{labels: q.recorder.labels, recorder: q.recorder, run: &s.run}
	s.run.id, s.run.queue, s.run.started = q.recorder.observer.syncs.Add(1), q, time.Now()
	s.run.setKey(key, BasisQueue)
	if added != nil {
		from := added.add.notBefore
		if added.due.After(from) {
			from = added.due
		}
		s.run.add, s.run.sure = &added.add, true
		s.run.waited = max(s.run.started.Sub(from), 0)
		q.total.wait.observe(s.run.waited, s.run.started)
	}
	q.running.add(&s.run)
	return s
}

// Enter makes the calling goroutine, and those that it starts, work on the sync until
// the function that it returns is called.
func (s *KeyedSync) Enter() (leave func()) {
	if s == nil {
		return func() {}
	}
	before := getProfLabel()
	s.scope.enter()
	return func() { setProfLabel(before) }
}

// Requeued says that the key was added again and when it is due.
func (s *KeyedSync) Requeued(due time.Time) {
	if s != nil {
		s.run.retryDue.Store(&due)
	}
}

// End ends the sync. failure says why it has failed; empty if it has not. Only the
// first call has an effect.
func (s *KeyedSync) End(failure string) {
	if s == nil || s.run.done.Swap(true) {
		return
	}
	q, now := s.run.queue, time.Now()
	q.running.remove(&s.run)
	if failure != "" {
		s.run.loggedError.Store(&failure)
	}
	took := now.Sub(s.run.started)
	q.countDone(took, now)
	synced := s.run.event(took)
	q.endSync(&synced, now)
}

// Forget says that the queue no longer has a key, nor will it be added again for what has failed:
// its object was deleted, or needs no work any more.
func (k *KeyedQueue) Forget(key string) {
	if k != nil {
		k.queue.recorder.observer.follower.drop(failingKey{k.queue.recorder.name, k.queue.name, key})
	}
}

// Snapshot returns the queue's numbers: how many keys were taken and worked on, and
// for how long. The queue itself knows its depth.
func (k *KeyedQueue) Snapshot(now time.Time) Queue {
	if k == nil {
		return Queue{}
	}
	return k.queue.countSyncs(now)
}
