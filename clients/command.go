package clients

import (
	"slices"
	"time"
)

// A command, such as Helm, waits with a watch for what its user has asked for, ends that, goes on, and ends by itself: what it
// writes is no reaction of an operator, which watches as long as it runs.

// watchesFor returns the watches whose events a write may follow, also such that have ended, but none that the client has ended
// itself to go on without one. The caller holds the lock.
func (cl *client) watchesFor(wr *write) (list []*watch) {
	isOpen := func(w *watch) bool { return w.gone() == nil && w.process.ID() == wr.process.ID() }
	goesOn := !slices.ContainsFunc(cl.watches, isOpen)
	for _, w := range slices.Concat(cl.watches, cl.ended) {
		if w.isFollowedBy(wr) && !(goesOn && w.wasClosed(wr.began)) {
			list = append(list, w)
		}
	}
	return list
}

// wasClosed reports whether the client had ended the watch before a time: the server ends it otherwise, or the process has ended
// meanwhile. The caller holds the lock of the client.
func (w *watch) wasClosed(before time.Time) bool {
	if w.ended.IsZero() { // its handler has not returned
		return w.gone() != nil
	}
	return w.closed && w.ended.Before(before)
}

// noteOutlived notes whether the process that has ended its last watch itself has made another request since. What an operator does
// for its Lease and its Events when it stops does not count.
func (cl *client) noteOutlived(r *request) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if w := cl.lastEnded; w == nil || len(cl.watches) > 0 || !w.wasClosed(r.call.Began) || r.call.IsRoutine() {
		return
	}
	id := r.process.ID()
	cl.outlived = cl.outlived || id != "" && id == cl.lastEnded.process.ID()
}
