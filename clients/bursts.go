package clients

import (
	"slices"
	"time"
)

const (
	// keptBursts is how many bursts of writes in a row, at equal distances, are by a timer.
	keptBursts = 3
	// A ticker is exact, but a busy machine is not, and a program that waits after its work has the time of that as well.
	burstTolerance = 50 // the part of a distance by which another one may differ
)

// noteBurst notes that the client begins to work after it has been idle. The caller holds the lock.
func (cl *client) noteBurst(began time.Time) {
	if len(cl.bursts) == keptBursts {
		cl.bursts = slices.Delete(cl.bursts, 0, 1)
	}
	cl.bursts = append(cl.bursts, began)
}

// isOfTicker reports whether a write belongs to a burst that a ticker has begun rather than an event: the last bursts began at equal
// distances, and this one long after the event. A worker may write for one queued key after the other at equal distances, too, but
// these are as short as a sync. What creates an object repeats nothing, and a write that has failed is repeated for the same cause.
func (w *write) isOfTicker(cause *event) bool {
	if len(w.bursts) < keptBursts || !w.existed && !w.deletes || cause == w.repeated.cause {
		return false
	}
	first, second, last := w.bursts[0], w.bursts[1], w.bursts[2]
	distance, other := last.Sub(second), second.Sub(first)
	isRegular := distance >= longIdle && (distance-other).Abs() <= max(maxPause, distance/burstTolerance)
	return isRegular && last.Sub(cause.seen()) > maxSettle && !w.isAnswer(cause, second, last)
}

// isAnswer reports whether the write may be the answer to another client's change since the burst before, of the written object or its
// owner or for which the program has written first in the last burst: changes may come at equal distances, too, and a sync take long.
func (w *write) isAnswer(cause *event, before, last time.Time) bool {
	if w.deletes || !w.isOthers(cause) || !cause.seen().After(before) {
		return false
	}
	return !cause.lastRun(w).began.Before(last) || cause.isOf(w.object) || isOwner(w.owners, cause.uid)
}
