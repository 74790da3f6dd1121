package clients

import (
	"cmp"
	"slices"
	"sync"
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

// choose returns the likeliest event; nil if there is none.
func (c *candidates) choose(w *write) *event {
	if e := c.handedOver(w); e != nil {
		return e
	}
	if e := c.listedOwner(w); e != nil {
		return e
	}
	queued, ownLast := c.queued(w)
	if c.isContinuedBy(w) && !c.isBegunBy(queued, w) {
		return c.last
	}
	if c.isContinuedWithOwn(w) {
		w.again = c.last
		return c.last
	}
	for _, list := range [][]*event{queued, ownLast} {
		if e := c.firstPrompt(list, w); e != nil {
			return c.nearer(e, queued, w)
		}
	}
	if len(queued) > 0 {
		return c.nearer(c.firstTogether(queued), queued, w)
	}
	if e := c.lastOwn(ownLast, w); e != nil {
		return e
	}
	if c.last != nil && c.last.isContinuedBy(w, c.read, maxWork) {
		return c.last
	}
	for _, list := range [][]*event{c.changes, w.nearest(c.listed), c.own, c.ownListed} {
		if len(list) == 0 {
			continue
		}
		e := firstOfBurst(list)
		if c.free.After(w.began) && w.began.Sub(e.seen()) > maxWork {
			return nil // another worker works for a later event at the moment
		}
		return e
	}
	return nil
}

// nearest returns the events of the owners of the written object or, if there are none, of the object itself; all if
// there are none of that either. In which order a program lists objects says nothing about them.
func (w *write) nearest(list []*event) []*event {
	for _, is := range []func(e *event) bool{
		func(e *event) bool { return isOwner(w.owners, e.uid) },
		func(e *event) bool { return e.isOf(w.object) },
	} {
		if nearest := slices.DeleteFunc(slices.Clone(list), func(e *event) bool { return !is(e) }); len(nearest) > 0 {
			return nearest
		}
	}
	return list
}

// handedOver returns the event that another controller of the program has made just now: it has written the status of an
// object that the written one owns, or created the object whose status is written. A program with one controller may do
// both in one run.
func (c *candidates) handedOver(w *write) (last *event) {
	if !c.busy.parallel && c.isContinuedBy(w) {
		return nil
	}
	for _, e := range c.own {
		isFromOther := w.versions.madeStatus(e) && e.isOwnedBy(w.object.UID) || e.change == observe.Added && w.isStatus && e.isOf(w.object)
		if isFromOther && e.seen().After(c.taken) && w.began.Sub(e.seen()) <= maxPause && (last == nil || byTime(last, e) < 0) {
			last = e
		}
	}
	return last
}

// listedOwner returns the owner of the written object that the program has found when it started and has not worked for: the last
// run was for another one that it has found, and which is neither that nor the object itself. If the object has no owner, it is the
// object that was found, unless the run may go on with it: a sync writes to what its object names, too.
func (c *candidates) listedOwner(w *write) *event {
	if c.last == nil || c.last.change != observe.Listed || c.last.isRelatedTo(w.object, w.owners) {
		return nil
	}
	goesOn := !w.busy.parallel && w.since(c.free) <= w.client.pauseLimit()
	i := slices.IndexFunc(c.listed, func(e *event) bool {
		isIt := isOwner(w.owners, e.uid) || len(w.owners) == 0 && !goesOn && e.isOf(w.object)
		return isIt && e.lastRun(w).answered.IsZero()
	})
	if i < 0 {
		return nil
	}
	return c.listed[i]
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

// isBegunBy reports whether a write that may continue the last run rather begins another one: it changes a version that the
// program has received after that run and just before the write or, after a pause, another client's change came just before.
func (c *candidates) isBegunBy(queued []*event, w *write) bool {
	ended := later(c.free, c.read)
	return slices.ContainsFunc(queued, func(e *event) bool {
		since, pause := w.began.Sub(e.seen()), w.since(ended)
		return e.seen().After(ended) && (e == w.baseEvent && since <= promptTime/2 || since <= busyGap && w.isOthers(e) && pause > w.client.pauseLimit())
	})
}

// isContinuedWithOwn reports whether a write changes a version that the last run has made, although the client had received a
// later one before that run wrote last: it has the version from the answer, so that it belongs to the run.
func (c *candidates) isContinuedWithOwn(w *write) bool {
	base := w.baseEvent
	if c.last == nil || base == nil || !w.versions.made(base) {
		return false
	}
	r := c.last.lastRun(w)
	pause := w.since(r.answered)
	return !r.failed && pause >= 0 && pause <= maxPause && !base.seen().Before(r.taken) &&
		slices.ContainsFunc(w.laterVersions(), func(e *event) bool { return e.at.Add(cacheDelay).Before(r.answered) })
}

// queued returns the changes since the last run began, in order: for one of them the key was
// queued again. ownLast is what the last write of that run has made: it rarely gives a program
// something to do.
func (c *candidates) queued(w *write) (list, ownLast []*event) {
	for _, e := range slices.Concat(c.changes, c.own) {
		switch {
		case e == c.last || !e.seen().Add(handlerDelay).After(c.taken):
		case c.made != "" && e.version == c.made:
			ownLast = append(ownLast, e)
		default:
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, byTime)
	return w.untilBase(list), ownLast
}

// untilBase leaves out what came after the other client's change that the write changes: that had queued the key, unless an
// earlier event had.
func (w *write) untilBase(queued []*event) []*event {
	if i := slices.Index(queued, w.baseEvent); i >= 0 && w.isOthers(w.baseEvent) && w.began.Sub(w.baseEvent.seen()) <= maxPause {
		return queued[:i+1]
	}
	return queued
}

// firstPrompt returns the first event for which a write would begin about now. For earlier
// ones there was nothing to write.
func (c *candidates) firstPrompt(list []*event, w *write) *event {
	for _, soon := range []time.Duration{promptTime / 2, promptTime} {
		if i := slices.IndexFunc(list, func(e *event) bool { return w.began.Sub(c.beginsAfter(e)) <= soon }); i >= 0 {
			return list[i]
		}
	}
	return nil
}

// lastOwn returns the event of what the last write of the last run has made, if the program began to work for it: it has worked
// for all others. nil if it rather pauses.
func (c *candidates) lastOwn(ownLast []*event, w *write) *event {
	if len(ownLast) == 0 {
		return nil
	}
	last, limit := ownLast[len(ownLast)-1], slowStart
	if slices.Contains(ownLast, w.baseEvent) {
		last, limit = w.baseEvent, maxWork
	}
	if w.began.Sub(last.seen()) > limit {
		return nil
	}
	return last
}

// nearer returns, in place of another client's change of an object that only has the name of the written one, or contains that, such as
// the Endpoints beside it, a queued change of the written object, its owner or what these own, if that has come just now, too, or the
// cause of the last run, if that is of such an object and the run may go on.
func (c *candidates) nearer(e *event, queued []*event, w *write) *event {
	if !w.isOthers(e) || e.isRelatedTo(w.object, w.owners) || e.name != w.object.Name && !w.isOnlyNamedBy(e) {
		return e
	}
	for _, other := range slices.Backward(queued) {
		if w.began.Sub(other.seen()) <= busyGap && other.isRelatedTo(w.object, w.owners) && w.isOthers(other) {
			return other
		}
	}
	if pause := w.since(c.free); c.last != nil && c.last.isRelatedTo(w.object, w.owners) && pause >= 0 && pause <= maxPause {
		w.again = c.last
		return c.last
	}
	return e
}

// firstTogether returns the first of the events for which the program would begin at about the
// time of the last one: what was queued while it was busy.
func (c *candidates) firstTogether(queued []*event) *event {
	last := slices.MaxFunc(queued, func(a, b *event) int { return c.beginsAfter(a).Compare(c.beginsAfter(b)) })
	i := slices.IndexFunc(queued, func(e *event) bool { return c.beginsAfter(last).Sub(c.beginsAfter(e)) <= burstGap })
	return queued[i]
}

// isContinuedBy reports whether a write may belong to the last run.
func (c *candidates) isContinuedBy(w *write) bool {
	return c.last != nil && c.last.isContinuedBy(w, c.read, maxPause)
}

// firstOfBurst returns the first of the last events that follow each other closely: on a busy
// machine a program sees them together.
func firstOfBurst(list []*event) *event {
	slices.SortStableFunc(list, byTime)
	first := list[len(list)-1]
	for _, e := range slices.Backward(list) {
		if first.seen().Sub(e.seen()) > burstGap {
			break
		}
		first = e
	}
	return first
}

func byTime(a, b *event) int { return a.seen().Compare(b.seen()) }
