package clients

import (
	"slices"

	"github.com/ctrlplane/ctrlplane/observe"
)

// chooseShared returns the likeliest cause of a write of a program with several controllers for the same objects; nil if none
// is likely. Each has workers and timers of its own, so that an event does not wait: one that came long before is not the
// cause. If several objects have changed at about the same time, it is not known for which of them the write is. What repeats a
// failed write of more than a status has the cause of that, unless another client has changed something near.
func (w *write) chooseShared() *event {
	near := w.nearEvents()
	cause := w.chooseNear(near)
	isOwn := cause == nil || cause.isUnknown() || w.versions.made(cause)
	if isOwn && w.isRepetition(near) {
		return w.repeated.cause
	}
	return cause
}

// isRepetition reports whether a write repeats one that has failed, for the same cause: no other client has changed anything near. A
// status is written for any of the controllers.
func (w *write) isRepetition(near []*event) bool {
	last := w.repeated.cause
	return last != nil && !last.isUnknown() && !w.isStatus && !slices.ContainsFunc(near, w.isOthers)
}

// chooseNear is chooseShared for a write that repeats nothing. near are the events that are near.
func (w *write) chooseNear(near []*event) *event {
	run, found := w.runBefore()
	if e := w.lastHandover(near); e != nil && (!found || !e.at.Before(run.cause.lastRun(w).last)) {
		return e
	}
	if found {
		return run.cause
	}
	if e := w.onlyObject(near); e != nil && !w.mayBeOfSyncThatMade(e) {
		return e
	}
	return nil
}

// mayBeOfSyncThatMade reports whether the sync which has made the version of an event may go on with the write: a worker waits
// for the answer, and soon makes the next one.
func (w *write) mayBeOfSyncThatMade(e *event) bool {
	v, isOwn := w.versions.of(e)
	pause := w.since(v.answered)
	return isOwn && pause >= 0 && pause <= busyGap
}

// nearEvents returns the events just before the write that are near, in order.
func (w *write) nearEvents() (list []*event) {
	for _, e := range w.events {
		if w.since(e.at) <= maxPause && w.isNear(e) && !w.isOwnReport(e) {
			list = append(list, e)
		}
	}
	slices.SortStableFunc(list, func(a, b *event) int { return a.at.Compare(b.at) })
	return list
}

// isNear reports whether an event is of the written object, its owner, or what it owns, or if it has no owner, of what it names
// or is named by: many objects may name the same class or pool, or have the same owner.
func (w *write) isNear(e *event) bool {
	return w.isNearest(e) || len(w.owners) == 0 && (e.isNamedIn(&w.names) || e.isNaming(&w.mentioned))
}

// isNearest reports whether an event is of the written object or the deletion of the one that it replaces, its owner, or what it
// owns.
func (w *write) isNearest(e *event) bool {
	return e.isOf(w.object) || w.replaces(e) || isOwner(w.owners, e.uid) || e.isOwnedBy(w.object.UID)
}

// replaces reports whether the write creates the object again of which an event is the deletion.
func (w *write) replaces(e *event) bool {
	former := w.object
	former.UID = ""
	return !w.existed && e.change == observe.Deleted && e.isOf(former)
}

// isOwnReport reports whether an event is of a status that the program has written itself, and of an object that is only named.
func (w *write) isOwnReport(e *event) bool { return w.versions.madeStatus(e) && !w.isNearest(e) }

// runBefore returns the last run of writes that the write may continue: that wrote an object which it names, or one that names
// the written one, for an event that is near, or not known.
func (w *write) runBefore() (run startedRun, found bool) {
	for _, r := range slices.Backward(w.runs) {
		last := r.cause.lastRun(w)
		isFor := r.cause.isUnknown() || w.isNear(r.cause) && !w.isOwnReport(r.cause)
		if isFor && w.mayContinue(r, last, usualPause) && (last.hasWrittenOneOf(&w.names) || w.mentioned.isIn(&last.names)) {
			return r, true
		}
	}
	return startedRun{}, false
}

// lastHandover returns the last event with which one controller hands over to another, even if the program has made it: the
// written object was created, or it or a near one was deleted, or marked as deleted, or the status of what it owns was written.
func (w *write) lastHandover(recent []*event) *event {
	for i, e := range slices.Backward(recent) {
		if e.change == observe.Added && e.isOf(w.object) || e.change == observe.Deleted || e.deleting && w.isFirstMark(e) ||
			i == len(recent)-1 && w.isStatusOfOwned(e) {
			return e
		}
	}
	return nil
}

// isStatusOfOwned reports whether an event is of the last write of the program, and that was of the status of what the written
// object owns. A write that begins before that one is answered follows at once if it is because of that.
func (w *write) isStatusOfOwned(e *event) bool {
	v, _ := w.versions.of(e)
	return v.status && e.isOwnedBy(w.object.UID) && v.answered.Equal(w.busy.stored) && (!w.began.Before(v.answered) || w.began.Sub(e.at) <= busyGap)
}

// isFirstMark reports whether no event before has shown that the object is marked as deleted.
func (w *write) isFirstMark(e *event) bool {
	return !slices.ContainsFunc(w.events, func(other *event) bool { return other.deleting && other.uid == e.uid && other.at.Before(e.at) })
}

// onlyObject returns the last of some events, in order, unless another object has changed at about the same time or, if another
// client has changed an object that is only named last, a nearer one has changed at all.
func (w *write) onlyObject(events []*event) *event {
	if len(events) == 0 {
		return nil
	}
	last := events[len(events)-1]
	isOther := func(e *event) bool {
		return !e.isOf(last.object()) && (last.at.Sub(e.at) <= usualPause || w.isNearest(e) && !w.isNearest(last) && w.isOthers(last))
	}
	if slices.ContainsFunc(events, isOther) {
		return nil
	}
	return last
}

// isOnlyReason reports whether nothing else explains a write of a program that is often late: no other client has changed another
// related object since the last run for such objects began, or the write continues that.
func (w *write) isOnlyReason(cause *event, c *candidates) bool {
	return cause == c.last && c.isContinuedBy(w) || !slices.ContainsFunc(w.related, func(e *event) bool {
		return w.isOthers(e) && e.at.After(c.taken) && !e.isOf(cause.object())
	})
}
