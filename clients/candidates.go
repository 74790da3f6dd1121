package clients

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	// promptTime is how soon after an event a program begins to write that has no other work:
	// it has all objects in its cache.
	promptTime = 6 * time.Millisecond
	// handlerDelay is how long after an event was sent its handler may add the key: a worker
	// that takes the same key meanwhile takes it for an earlier event.
	handlerDelay = time.Millisecond
	// busyGap is the longest time between two writes of a program that has work.
	busyGap = 10 * time.Millisecond
	// usualPause is how long a sync often pauses between two writes. Built-in controllers may write the status of what it has
	// made meanwhile.
	usualPause = 30 * time.Millisecond
	// maxWork is the longest time between two writes of a program that is not idle, and between two writes for an object.
	maxWork = 900 * time.Millisecond
	// slowStart is how soon after an event a slow program begins to write, as one in JavaScript on a busy machine.
	slowStart = 300 * time.Millisecond
	// maxSettle is how long a program may wait after an event before it begins to work.
	maxSettle = 2 * time.Second
	// longIdle is more than a sync usually takes.
	longIdle = 5 * time.Second
	// oftenWithoutEffect is how many events of a kind must come without a write to be expected at any time.
	oftenWithoutEffect = 2
	// burstGap is the time between events that a program sees together.
	burstGap = 5 * time.Millisecond
)

// candidates are the events that may be the cause of a write: changes, what the client has
// written itself, what it has listed, and what it has listed of that.
type candidates struct {
	changes, own, listed, ownListed []*event

	last  *event    // the cause of the last run of writes; nil if there was none
	taken time.Time // when the key of that run was taken from its queue
	free  time.Time // when that run has ended
	made  string    // the version that its last write has made
	read  time.Time // when it has listed something for that run
	busy  period    // of the client, before the write
}

// beginsAfter returns when a program begins to write for an event, if it does: when it has
// ended the last run of writes and, as it may have one worker only, what it did then for
// other objects.
func (c *candidates) beginsAfter(e *event) time.Time {
	begins := e.seen()
	if begins.Before(c.free) {
		begins = c.free
	}
	if !e.seen().Before(c.busy.from) && begins.Before(c.busy.to) {
		begins = c.busy.to
	}
	return begins
}

// takenFor returns when the key of an event was taken from its queue, if it was.
func (c *candidates) takenFor(e *event) time.Time {
	if c.busy.parallel {
		return later(e.seen().Add(handlerDelay), c.free)
	}
	return later(e.seen().Add(handlerDelay), c.beginsAfter(e))
}

// isFinished reports whether the program has ended its work for the likeliest event: it has written nothing for such an
// object for a while. What it has not written for may still wait in its queue, or be worked on.
func (c *candidates) isFinished(best *event, w *write) bool {
	isPending := w.isOthers(best) || best.change == observe.Listed && best.seen().After(w.idle.from)
	if isPending && !c.free.After(best.seen()) && !w.evictsLongAfter(best) {
		return false
	}
	return w.since(later(best.seen(), c.free)) > maxWork && !c.isContinuedBy(w)
}

// evictsLongAfter reports whether the write evicts a Pod, and the program has been idle since an event: a program that looks at all
// Pods from time to time evicts. What deletes an object may have waited on purpose, as for a time to live.
func (w *write) evictsLongAfter(e *event) bool {
	return w.evicts && w.idle.to.Sub(later(w.idle.from, e.seen())) > longIdle
}

// isOthers reports whether an event is of what another client has changed, and a program may work for it.
func (w *write) isOthers(e *event) bool {
	return e.change != observe.Listed && !e.object().IsRoutine() && !w.versions.made(e)
}

// currentRun returns the cause of the last run that the write may continue although it is not known to be of a related
// object: the run began for such an object, too, or for another client's change just before, or for an unknown reason, or it
// has written an object that the written one names, or nothing else explains the write; or the cause of the failure that the
// write repeats. nil if there is none.
func (w *write) currentRun(related *event, isFinished bool) *event {
	if isFinished && w.repeated.cause != nil {
		return w.repeated.cause
	}
	if isFinished {
		if e := w.causeOfNamed(); e != nil {
			return e
		}
	}
	for _, r := range slices.Backward(w.runs) {
		last, limit := r.cause.lastRun(w), time.Duration(0)
		switch {
		case last.woken:
			limit = maxPause
		case isFinished && w.isAlone(related) && w.isFollowUp(r.cause, last):
			limit = usualPause
		case isFinished && (r.cause.isUnknown() || w.isNamespace(r.cause)), w.isOfSameSync(related, &last):
			limit = w.client.pauseLimit()
		case isFinished && last.prompt:
			limit = busyGap
		}
		if limit > 0 && w.mayContinue(r, last, limit) {
			return r.cause
		}
	}
	return nil
}

// isOfSameSync reports whether an event is of what a run has made, and may not be what hands over to another controller, as a
// status or the creation of the written object does: the same sync may go on with the write.
func (w *write) isOfSameSync(e *event, last *writeRun) bool {
	if e == nil || e.isOf(w.object) && !last.isWithin(w) || w.versions.madeStatus(e) {
		return false
	}
	return !w.busy.parallel && w.versions.made(e) && e.seen().After(last.began)
}

// causeOfNamed returns the cause of the last run that has written an object which the written one names, as a sync writes the
// status of its object before what that is for; nil if there is none. The event of such a status comes last.
func (w *write) causeOfNamed() (own *event) {
	names := w.namesOfObject()
	for _, r := range slices.Backward(w.runs) {
		if last := r.cause.lastRun(w); !last.hasWrittenOneOf(names) || !w.mayContinue(r, last, maxWork) {
			continue
		}
		if !w.versions.made(r.cause) {
			return r.cause
		}
		own = cmp.Or(own, r.cause)
	}
	return own
}

// namesOfObject returns what the written object names. The answer to a deletion rarely has that, but its last version has.
func (w *write) namesOfObject() *namespacedNames {
	if w.deletes {
		if last := w.lastEvent(w.began, func(e *event) bool { return e.isOf(w.object) }); last != nil {
			return &namespacedNames{w.object.Namespace, last.names}
		}
	}
	return &w.names
}

// mayContinue reports whether the program had seen the cause of a run when the write began, and it may belong to the run.
func (w *write) mayContinue(r startedRun, last writeRun, limit time.Duration) bool {
	return !w.began.Before(r.cause.at) && !slices.Contains(w.unseen, r.cause) && last.isContinuedBy(w, time.Time{}, limit)
}

// isAlone reports whether nothing related explains a write: its object has no owner, and of the object itself the program
// has received at most what it has listed or written itself.
func (w *write) isAlone(related *event) bool {
	return len(w.owners) == 0 && (related == nil || related.isOf(w.object) && (related.change == observe.Listed || w.versions.made(related)))
}

// isFollowUp reports whether a write that is related to nothing may follow from the cause of a run: another client's change
// in the same namespace, after which no other one came since that run has ended. An object outside of any namespace may
// follow from one in any.
func (w *write) isFollowUp(cause *event, last writeRun) bool {
	if cause.isUnknown() || !w.isOthers(cause) || w.object.Namespace != "" && !w.isInNamespaceOf(cause) {
		return false
	}
	return !slices.ContainsFunc(w.events, func(e *event) bool { return w.isOthers(e) && e.seen().After(last.answered) })
}

// wakingEvent returns the event of another object in the namespace of the written one for which the program begins to work
// with this write: it may select the written object, or be selected. If the program was idle, it has ended that; otherwise it
// came just now. isKnown is false if there is none, and what the program has received since a time may be the reason: it
// may wait before it begins to work. What came without a write before came by chance: its kind is not the reason, nor, if that
// happened often, worth a wait.
func (w *write) wakingEvent(since time.Time) (waking *event, isKnown bool) {
	wasIdle := !w.began.After(w.idle.to)
	began := func(e *event) time.Time {
		if wasIdle && !e.seen().After(w.workBegan) {
			return w.workBegan
		}
		return w.began
	}
	var others []*event
	hadNoEffect := map[string]int{}
	for _, e := range w.events {
		if !w.isInNamespaceOf(e) || !w.isOthers(e) || !wasIdle && len(e.lastRun(w).targets) > 0 {
			continue
		}
		others = append(others, e)
		if began(e).Sub(e.seen()) > maxPause && (!wasIdle || e.seen().After(w.idle.from)) {
			hadNoEffect[e.object().GroupResource()]++
		}
	}
	slices.SortStableFunc(others, byTime)
	within := []time.Duration{promptTime / 2, promptTime, maxPause}
	if !wasIdle {
		within = within[:2]
	}
	for _, soon := range within {
		i := slices.IndexFunc(others, func(e *event) bool {
			return e.seen().After(w.idle.from) && began(e).Sub(e.seen()) <= soon && hadNoEffect[e.object().GroupResource()] == 0
		})
		if i >= 0 {
			return others[i], true
		}
	}
	wait, often := maxSettle, oftenWithoutEffect
	if !wasIdle {
		wait, often = maxPause, 1
	}
	return nil, !slices.ContainsFunc(others, func(e *event) bool {
		return e.seen().After(since) && w.began.Sub(e.seen()) <= wait && hadNoEffect[e.object().GroupResource()] < often
	})
}

// isInNamespaceOf reports whether an event is of an object in the namespace of the written one, or of that itself.
func (w *write) isInNamespaceOf(e *event) bool {
	return e.namespace == w.object.Namespace || w.isNamespace(e)
}

// candidates returns, of some events, those of the objects that are related to the written one.
func (w *write) candidates(among []*event, isRelated func(*event) bool) *candidates {
	c := &candidates{busy: w.busy}
	for _, e := range among {
		if e.at.Before(w.oldest) || !isRelated(e) {
			continue
		}
		isOwn := w.versions.made(e)
		if isOwn && !e.isRelatedTo(w.object, w.owners) { // it is only named
			continue
		}
		switch {
		case isOwn && e.change == observe.Listed:
			c.ownListed = append(c.ownListed, e)
		case isOwn:
			c.own = append(c.own, e)
		case e.change == observe.Listed:
			c.listed = append(c.listed, e)
		default:
			c.changes = append(c.changes, e)
		}
		if r := e.lastRun(w); r.answered.After(c.free) {
			c.last, c.taken, c.free, c.made = e, r.taken, r.answered, r.made
		}
	}
	c.leaveOutReads(w)
	c.leaveOutConsumed(w, isRelated)
	return c
}

// leaveOutReads leaves out what the program has listed during the last run or after it, as it does when it
// first asks for objects of a kind: if it did that for the run, this goes on then. An owner of the written object is
// what a controller works for, which may have started then.
func (c *candidates) leaveOutReads(w *write) {
	isRead := func(e *event) bool {
		return c.last != nil && e.change == observe.Listed && e.opened.After(c.taken) && !isOwner(w.owners, e.uid)
	}
	for _, e := range w.events {
		if isRead(e) && e.at.After(c.read) && c.mayListForRun(e, w) {
			c.read = e.at
		}
	}
	c.listed, c.ownListed = slices.DeleteFunc(c.listed, isRead), slices.DeleteFunc(c.ownListed, isRead)
}

// mayListForRun reports whether the program may have listed an object for the last run: it had not ended that long before, and
// another client had not changed the written object or an owner of it since.
func (c *candidates) mayListForRun(listed *event, w *write) bool {
	return listed.opened.Sub(c.free) <= maxWork && !slices.ContainsFunc(c.changes, func(e *event) bool {
		return (e.isOf(w.object) || isOwner(w.owners, e.uid)) && e.seen().After(c.free) && e.at.Before(listed.opened)
	})
}

// leaveOutConsumed moves the time when the key was last taken: a queue is in order, so that when
// a program began to write for an event of another object, it had already worked on the keys
// of earlier events, and had nothing to write for these. Another controller of the program has
// a queue of its own, and writes other kinds of objects.
func (c *candidates) leaveOutConsumed(w *write, isRelated func(*event) bool) {
	if c.busy.parallel {
		return
	}
	runs := slices.DeleteFunc(slices.Clone(w.runs), func(r startedRun) bool { return !r.began.Before(w.began) })
	slices.SortFunc(runs, func(a, b startedRun) int { return a.began.Compare(b.began) })
	for _, r := range runs {
		if !r.began.After(c.taken) || isRelated(r.cause) || r.cause.isUnknown() || !r.hasWritten(w, w.object.GroupResource()) {
			continue
		}
		isEarlier := func(e *event) bool {
			added := e.seen().Add(handlerDelay)
			return added.After(c.taken) && added.Before(r.cause.at)
		}
		if slices.ContainsFunc(c.changes, isEarlier) || slices.ContainsFunc(c.own, isEarlier) {
			c.taken = later(r.free, r.cause.at)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pauseLimit returns how long a sync of the client usually pauses at most between two writes: usualPause, or less if the
// last pauses were short.
func (cl *client) pauseLimit() time.Duration {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	if len(cl.pauses) < keptPauses/8 {
		return usualPause
	}
	median := slices.Sorted(slices.Values(cl.pauses))[len(cl.pauses)/2]
	return min(usualPause, max(busyGap, median*5/2))
}

func byTime(a, b *event) int { return a.seen().Compare(b.seen()) }
