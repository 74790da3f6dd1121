package observe

import "sync/atomic"

// queueTotals are what the queues of one name of a controller have counted: one that is started again has another queue.
type queueTotals struct {
	adds, gets, done, retries atomic.Int64
	errorRetries              atomic.Int64 // of retries
	wait, work                histogram
}

// totalsOf returns the totals of the recorder's queues of a name. Those of a queue without an owner are its own.
func (r *Recorder) totalsOf(queue string) *queueTotals {
	if r == nil {
		return &queueTotals{}
	}
	t, known := r.totals.Load(queue)
	if !known {
		t, _ = r.totals.LoadOrStore(queue, &queueTotals{})
	}
	return t.(*queueTotals)
}
