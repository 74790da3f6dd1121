package clients

import (
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxPause is how long a program may think between two writes for the same reason.
const maxPause = 100 * time.Millisecond

// writeRun is a run of writes that have an event as their likely cause.
type writeRun struct {
	taken    time.Time // when the key was taken from its queue
	began    time.Time // the first write
	answered time.Time // the last write
	failed   bool      // the last write
	made     string    // the version that the last write has made
	targets  []string  // at most maxTargets
}

const maxTargets = 64

// startedRun is when a run of writes began, and why.
type startedRun struct {
	cause *event
	began time.Time // its first write
	free  time.Time // when the client had ended its last write before that
}

// noteRun notes that a write for an event begins a run.
func (cl *client) noteRun(e *event, w *write, free time.Time) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.runs[cl.nextRun%keptRuns] = startedRun{e, w.began, free}
	cl.nextRun++
}

// hasWritten reports whether the run has written an object of a resource.
func (r startedRun) hasWritten(resource string) bool {
	return slices.ContainsFunc(r.cause.lastRun().targets, func(target string) bool {
		return strings.HasPrefix(target, resource+"/")
	})
}

// isContinuedBy reports whether a write may belong to the run. A program that writes an
// object again, or goes on after a failure, does so for another reason.
func (r *writeRun) isContinuedBy(w *write, read time.Time) bool {
	pause := w.began.Sub(r.answered)
	if read.After(r.answered) {
		pause = w.began.Sub(read)
	}
	return len(r.targets) > 0 && !r.failed && pause >= 0 && pause <= maxPause && !slices.Contains(r.targets, w.target)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (e *event) isContinuedBy(w *write, read time.Time) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.writes.isContinuedBy(w, read)
}

func (e *event) lastRun() writeRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.writes
}

// record records the event, once, as the cause of a write, and returns the Seq of the
// record, and whether the write begins a run. No worker waits for a routine write: it begins none.
func (e *event) record(o *observe.Observer, client string, w *write, c *candidates) (seq uint64, begins bool) {
	taken := c.takenFor(e)
	if base := w.baseEvent; base != nil && !w.began.Before(base.seen()) { // it was taken after that event
		taken = later(taken, earlier(base.seen().Add(handlerDelay), w.began))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r := &e.writes
	continues := r.isContinuedBy(w, c.read) && len(r.targets) < maxTargets
	if begins = !continues && !w.routine; begins {
		*r = writeRun{taken: taken, began: w.began}
	}
	if begins || continues {
		r.answered, r.failed, r.made, r.targets = w.answered, w.failed, w.made, append(r.targets, w.target)
	}
	if e.seq == 0 {
		e.seq = o.AppendAt(&observe.Delivered{Controller: client, Change: e.change, Object: e.object, ResourceVersion: e.version, TakenBy: e.leaseTakenBy()}, e.at)
	}
	return e.seq, begins
}
