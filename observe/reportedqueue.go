package observe

import "time"

// ReportedQueue records the work of a queue in another process, which reports what
// happens to its keys a moment later. What the process counts is known to the caller.
type ReportedQueue struct{ queue *queue }

// ReportedQueue returns the recorder's queue of that name, always the same.
func (r *Recorder) ReportedQueue(name string) *ReportedQueue {
	return &ReportedQueue{r.KeyedQueue(name).queue}
}

// Recorder returns the recorder of the queue's controller.
func (q *ReportedQueue) Recorder() *Recorder { return q.queue.recorder }

// NewSync returns the ID of a sync that is known by its calls or that begins.
func (q *ReportedQueue) NewSync() uint64 { return q.queue.recorder.observer.syncs.Add(1) }

// Begin notes that a sync has begun.
func (q *ReportedQueue) Begin(id uint64, key string, at time.Time) {
	w := &syncRun{id: id, queue: q.queue, started: at}
	w.setKey(key, BasisQueue)
	q.queue.running.add(w)
}

// End records a sync that has ended. All but the names of controller and queue is set.
func (q *ReportedQueue) End(s *Synced, at time.Time) {
	q.Abandon(s.ID)
	s.Controller, s.Queue = q.queue.recorder.name, q.queue.name
	if s.Add != 0 {
		q.queue.total.wait.observe(s.Waited, at)
	}
	q.queue.countDone(s.Took, at)
	q.queue.endSync(s, at)
}

// Abandon forgets a sync that will not end: its process has ended.
func (q *ReportedQueue) Abandon(id uint64) {
	for w := range q.queue.running.all() {
		if w.id == id {
			q.queue.running.remove(w)
		}
	}
}

// Complete adds the names and what was measured to the queue's numbers.
func (q *ReportedQueue) Complete(v Queue, now time.Time) Queue {
	v.Controller, v.Name = q.queue.recorder.name, q.queue.name
	v.ErrorRetries, v.MaxDepth = q.queue.total.errorRetries.Load(), max(v.MaxDepth, v.Depth)
	v.Wait, v.Work = q.queue.total.wait.summarizeDurations(now), q.queue.total.work.summarizeDurations(now)
	v.Unfinished, v.Longest = q.queue.runningAges(now)
	return v
}

// RecordDelivery records an event that a handler in another process has received, and
// returns its Seq.
func (r *Recorder) RecordDelivery(d *Delivered, at time.Time) uint64 {
	d.Controller = r.name
	r.AddWatch(d.Object.GroupResource())
	r.delivered.Add(1)
	if d.Change != Resynced && d.Change != Listed && !d.Object.IsLease() {
		r.markActive(time.Now())
	}
	return r.observer.append(d, at)
}

// RecordReportedCall records a call of a sync in another process. Its controller and its
// sync are set.
func (r *Recorder) RecordReportedCall(c *Called, at time.Time) {
	r.countCall(c, nil)
	r.observer.append(c, at)
}

// DeliveredObject returns the object of the Delivered with that Seq, if it is still kept.
func (o *Observer) DeliveredObject(seq uint64) (Object, bool) {
	r := o.journal.find(seq)
	if r == nil {
		return Object{}, false
	}
	d, ok := r.Event.(*Delivered)
	if !ok {
		return Object{}, false
	}
	return d.Object, true
}

// RemoveRecorder forgets a recorder. What it has recorded remains.
func (o *Observer) RemoveRecorder(name string) {
	o.mu.Lock()
	delete(o.recorders, name)
	o.mu.Unlock()
	o.sampler.forgetController(name)
	o.follower.forgetController(name)
	o.history.forgetController(name)
}
