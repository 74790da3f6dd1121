package clients

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// maxPause is how long a program may think between two writes for the same reason.
const maxPause = 100 * time.Millisecond

// writeRun is a run of writes of a client that have an event as their likely cause.
type writeRun struct {
	by       string           // the name of the client: one that is forgotten is not kept for its runs
	taken    time.Time        // when the key was taken from its queue
	began    time.Time        // the first write
	last     time.Time        // when the last write began
	answered time.Time        // the last write
	failed   bool             // the last write
	prompt   bool             // it began soon after what another client had changed
	woken    bool             // the written objects are not related to that of the event: several workers may write
	made     string           // the version that the last write has made
	whole    bool             // the first write has changed nothing: a sync of the program writes all its objects, the first one first
	targets  []string         // at most maxTargets
	wrote    []objectMentions // how the objects of these are named
	names    namespacedNames  // in what the last write has written
}

const maxTargets = 64

// startedRun is when a run of writes began, and why.
type startedRun struct {
	cause *event
	began time.Time // its first write
	free  time.Time // when the client had ended its last write before that
}

// noteWrite notes the likely cause of a write. No worker waits for a routine write: it neither begins a run nor continues one.
func (cl *client) noteWrite(w *write, cause *event, of *candidates, woken bool) {
	cl.noteFailure(w, cause)
	if w.routine {
		return
	}
	if !cause.noteWrite(w, of, woken) {
		cl.noteContinued(w)
		return
	}
	cl.noteRun(cause, w, w.busy.to)
	if !woken && cause != of.last {
		cl.noteLate(cause, w)
	}
}

// A client is often late while minLate of its last runs, and one of lateShare, began late.
const minLate, lateShare = 4, 3

// noteLate notes whether a run of writes began long after its cause, although the client was idle, as with a limit of how often
// it works for an object.
func (cl *client) noteLate(e *event, w *write) {
	if e.isUnknown() || e.change == observe.Listed {
		return
	}
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if len(cl.begun) == keptBegun {
		cl.begun = slices.Delete(cl.begun, 0, 1)
	}
	cl.begun = append(cl.begun, w.since(later(e.seen(), w.busy.to)) > maxPause)
	late := 0
	for _, isLate := range cl.begun {
		if isLate {
			late++
		}
	}
	cl.busy.late = late >= minLate && late*lateShare >= len(cl.begun)
}

// failedWrite is why a write was made that has failed.
type failedWrite struct {
	cause    *event
	at       time.Time
	conflict bool
}

// noteFailure remembers why a write was made that has failed, until it succeeds: a program repeats it, each time later.
func (cl *client) noteFailure(w *write, cause *event) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if delete(cl.failed, w.target); !w.failed {
		return
	}
	if len(cl.failed) >= maxFailed { // few are repeated
		clear(cl.failed)
	}
	cl.failed[w.target] = failedWrite{cause, w.answered, w.conflict}
}

// noteRun notes that a write for an event begins a run.
func (cl *client) noteRun(e *event, w *write, free time.Time) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	cl.runs[cl.nextRun%keptRuns] = startedRun{e, w.began, free}
	cl.nextRun++
}

// hasWritten reports whether the run has written an object of a resource.
func (r startedRun) hasWritten(w *write, resource string) bool {
	return slices.ContainsFunc(r.cause.lastRun(w).targets, func(target string) bool {
		return strings.HasPrefix(target, resource+"/")
	})
}

// hasWrittenOneOf reports whether the run has written an object that is among some names.
func (r *writeRun) hasWrittenOneOf(names *namespacedNames) bool {
	return slices.ContainsFunc(r.wrote, func(m objectMentions) bool { return m.isIn(names) })
}

// isContinuedBy reports whether a write may belong to the run after a pause of at most limit. A program that writes an
// object again, or goes on after a failure, does so for another reason, unless it has read the written object for this run, and
// not since the failure. Of a retry after a conflict, see causeOfRetry.
func (r *writeRun) isContinuedBy(w *write, read time.Time, limit time.Duration) bool {
	pause := w.since(later(r.answered, read))
	if len(r.targets) == 0 || pause < 0 && !r.woken || pause > limit {
		return false
	}
	hasRead := !w.read.Before(r.taken.Add(-handlerDelay)) && w.read.Before(r.last)
	return (!r.failed || hasRead) && (!slices.Contains(r.targets, w.target) || r.isWithin(w))
}

// isWithoutEffect reports whether the write has updated an object to what it was.
func (w *write) isWithoutEffect() bool {
	return w.base != "" && w.made == "" && w.existed && !w.failed && !w.dryRun
}

// isWithin reports whether the run goes on although the write is of an object that it has written: another sync would begin with
// the first object, and another worker may run one beside it.
func (r *writeRun) isWithin(w *write) bool {
	return r.whole && w.target != r.targets[0] && !w.isStatus && !w.busy.parallel
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (e *event) isContinuedBy(w *write, read time.Time, limit time.Duration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.runOf(w.client)
	return w.again == e || r.isContinuedBy(w, read, limit)
}

// lastRun returns the last run of writes of the client for the event.
func (e *event) lastRun(w *write) writeRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runOf(w.client)
}

// runOf is lastRun with the lock held.
func (e *event) runOf(cl *client) writeRun {
	for _, r := range e.writes {
		if r.by == cl.name {
			return r
		}
	}
	return writeRun{by: cl.name}
}

// setRun sets what lastRun returns, and forgets what was set first if that was of too many clients. The caller holds the lock.
func (e *event) setRun(r writeRun) {
	e.writes = slices.DeleteFunc(e.writes, func(other writeRun) bool { return other.by == r.by })
	if len(e.writes) >= keptRuns {
		e.writes = slices.Delete(e.writes, 0, 1)
	}
	e.writes = append(e.writes, r)
}

// noteWrite notes that the event is the likely cause of a write, and reports whether that begins a run.
func (e *event) noteWrite(w *write, c *candidates, woken bool) (begins bool) {
	taken := c.takenFor(e)
	if base := w.baseEvent; base != nil && !w.began.Before(base.seen()) { // it was taken after that event
		taken = later(taken, earlier(base.seen().Add(handlerDelay), w.began))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.runOf(w.client)
	continues := (w.again == e || r.isContinuedBy(w, c.read, maxPause)) && len(r.targets) < maxTargets
	if begins = !continues; begins {
		r = writeRun{by: w.client.name, taken: taken, began: w.began, woken: woken, whole: w.isWithoutEffect(), prompt: w.isOthers(e) && w.began.Sub(later(e.at, e.unseen)) <= promptTime}
	}
	r.last = later(r.last, w.began)
	r.answered, r.failed, r.made = later(r.answered, w.answered), w.failed, w.made
	r.names = w.names
	r.targets, r.wrote = append(r.targets, w.target), append(r.wrote, w.mentioned)
	e.setRun(r)
	return begins
}

// isUnknown reports whether the event stands for one that is not known: writes of the same sync follow from it.
func (e *event) isUnknown() bool { return e.at.IsZero() }

// record records the event, once, and returns the Seq of the record.
func (e *event) record(o *observe.Observer) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seq == 0 {
		e.seq = o.AppendAt(&observe.Delivered{Controller: e.client.name, Change: e.change, Object: e.object(), ResourceVersion: e.version, TakenBy: e.leaseTakenBy()}, e.at)
	}
	return e.seq
}

// ownVersion is a version that a client has written.
type ownVersion struct {
	version  string
	status   bool      // of which it has written the status
	answered time.Time // the write
	origin   time.Time // of what another client has changed, or was listed, that the write follows from; zero if that is not known
}

// ownVersions are the last ones of a client. Its methods are safe for concurrent use.
type ownVersions struct {
	mu        sync.RWMutex
	ring      []string
	next      int
	byVersion map[string]ownVersion
}

// add adds a version, or what is known of it later.
func (o *ownVersions) add(v ownVersion) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if v.version == "" {
		return
	}
	if known, found := o.byVersion[v.version]; found {
		known.origin = later(known.origin, v.origin)
		o.byVersion[v.version] = known
		return
	}
	if o.byVersion == nil {
		o.byVersion = map[string]ownVersion{}
	}
	if o.byVersion[v.version] = v; len(o.ring) < keptVersions {
		o.ring = append(o.ring, v.version)
		return
	}
	delete(o.byVersion, o.ring[o.next])
	o.ring[o.next] = v.version
	o.next = (o.next + 1) % keptVersions
}

// of returns what is known of the version of an event, if the client has written that. That of an object in a list is not known.
func (o *ownVersions) of(e *event) (v ownVersion, found bool) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	v, found = o.byVersion[e.version]
	return v, found
}

// has reports whether the client has written a version.
func (o *ownVersions) has(version string) bool {
	o.mu.RLock()
	defer o.mu.RUnlock()
	_, found := o.byVersion[version]
	return found
}

// made reports whether an event is of what the client has written.
func (o *ownVersions) made(e *event) bool { return o.has(e.version) }

// madeStatus reports whether an event is of a status that the client has written.
func (o *ownVersions) madeStatus(e *event) bool {
	v, _ := o.of(e)
	return v.status
}

// originOf returns when that happened which an event follows from: itself, unless the client has made it. A program that
// starts works for what it has listed, whoever has written that.
func (o *ownVersions) originOf(e *event) time.Time {
	if v, isOwn := o.of(e); isOwn && e.change != observe.Listed {
		return v.origin
	}
	return e.at
}
