package clients

import (
	"slices"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// period is a time in which a client has made one write after the other.
type period struct {
	from, to time.Time
	// stored is when the last of them was answered that has not failed.
	stored time.Time
	// parallel is set once it has made two at once: then it has several workers, and may have taken
	// a key while one of them worked for another object.
	parallel bool
	// shared is set once it has made two of the same object at once: then several controllers work for the same objects.
	shared bool
	// late is set while it has often begun long after an event although it was idle: events wait, or it works long before it writes.
	late bool
}

// answeredWrite is a write of an object, and when it was answered. An intervention may have held it.
type answeredWrite struct {
	object   observe.Object
	answered time.Time
	held     bool
}

// idlePeriod is the last time that a client has made no write for more than maxWork; from is zero before the first write.
type idlePeriod struct{ from, to time.Time }

// noteBusy notes that a client makes a write, and adds to that what the client has done before.
func (cl *client) noteBusy(w *write) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	before := cl.busy
	w.read, w.created = cl.lastGet(w.object, false), cl.lastGet(w.object, true)
	hasOthers := sync.OnceValue(func() bool { return hasFullConn(cl.watches) })
	isOfProcess := func(e *event) bool { return e.process.ID() == w.process.ID() || hasOthers() }
	if last := cl.failed[w.target]; last.cause != nil && w.began.Sub(last.at) <= observe.MaxRetry && isOfProcess(last.cause) {
		w.repeated = last
	}
	for i := range cl.runs { // in order
		if r := cl.runs[(cl.nextRun+i)%keptRuns]; r.cause != nil && isOfProcess(r.cause) {
			w.runs = append(w.runs, r)
		}
	}
	w.busy = before
	w.heldReads = slices.Clone(cl.heldReads)
	w.oldest = cl.heldWrites.before(w.began, maxReaction)
	if cl.leaderSince.After(w.oldest) { // what it has received as a standby waits until then
		w.oldest = time.Time{}
	}
	w.workBegan = w.began
	if w.began.Sub(cl.active.to) <= maxWork && cl.active.from.Before(w.began) {
		w.workBegan = cl.active.from
	}
	w.idle = cl.idle
	if w.since(before.to) > maxWork {
		w.idle = idlePeriod{before.to, w.began}
	} else if w.began.After(w.idle.from) && w.began.Before(w.idle.to) { // a later one was answered before
		w.idle.to = w.began
	}
	if w.routine || w.dryRun {
		return
	}
	cl.idle = w.idle
	if w.since(before.to) > maxWork {
		cl.noteBurst(w.workBegan)
	}
	w.bursts = slices.Clone(cl.bursts)
	cl.active.extend(w.began, w.answered)
	if w.began.Sub(before.to) > busyGap {
		cl.busy.from = w.began
	}
	cl.busy.parallel = before.parallel || w.began.Before(before.to)
	cl.busy.shared = before.shared || slices.ContainsFunc(cl.wrote[:], func(o answeredWrite) bool {
		return o.answered.After(w.began) && !o.held && !w.held && o.object.Same(w.object)
	})
	cl.wrote[cl.nextWrote%len(cl.wrote)] = answeredWrite{w.object, w.answered, w.held}
	cl.nextWrote++
	w.busy.parallel, w.busy.shared, w.busy.late = cl.busy.parallel, cl.busy.shared, cl.busy.late
	cl.busy.to = later(before.to, w.answered)
	if !w.failed {
		cl.busy.stored = later(before.stored, w.answered)
	}
}

// extend adds a request to the period, or begins another one with it.
func (p *period) extend(began, answered time.Time) {
	if began.Sub(p.to) > maxWork {
		p.from = began
	}
	p.to = later(p.to, answered)
}

// noteRead notes that a client has read objects: work may begin so.
func (cl *client) noteRead(c *observe.Called) {
	if c.IsRoutine() {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.active.extend(c.Began, c.Began.Add(c.Took))
}

// noteLed notes that a client has taken a Lease from another holder: it begins to work, unless it has written anything since its
// first watch began. A program that works may take a Lease for each object or shard.
func (cl *client) noteLed(at time.Time) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if len(cl.watches) > 0 && cl.busy.to.Before(cl.watchBegan) {
		cl.leaderSince = at
	}
}

// noteContinued notes that the client has been busy since before its last write, however long it
// paused before that.
func (cl *client) noteContinued(w *write) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	before := w.busy
	if len(cl.pauses) == keptPauses {
		cl.pauses = slices.Delete(cl.pauses, 0, 1)
	}
	cl.pauses = append(cl.pauses, w.since(before.to))
	if !before.parallel && !before.from.IsZero() && before.from.Before(cl.busy.from) {
		cl.busy.from = before.from
	}
}
