package clients

import (
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

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
