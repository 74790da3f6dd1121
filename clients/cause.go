package clients

import (
	"slices"
	"strconv"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxReaction is how long after an event a write may still be the reaction to it.
const maxReaction = time.Minute

// maxSearchedBody is how much of an object is searched for names: for many events, while
// the request waits. maxMentions is how many are found in the answer to a write.
const maxSearchedBody, maxMentions = 16 << 10, 256

// likelyCause returns the Seq of the record of the event that likely caused a write. If none is known it
// is 0, and last is what the client had received before, if it has watches. If both are set, the cause counts
// once the client has opened a watch. It records the event, unless
// another write has done so.
//
// A program is taken to work as controllers do: an event of a related object queues a key,
// unless it is queued already, and a worker makes one write after the other for it. So a write
// belongs to the run of writes that it continues, or else to the first event since that run
// began for which the program would begin now. An event that the program cannot have known
// when it read the object is not the cause. If all events of related objects are finished, as the
// program has written nothing for them for a while, the write belongs to the run before, or to
// what another client has changed just now. If either may be the cause, none is known.
func (cl *client) likelyCause(r *request, answer recording.ResponseSummary) (seq uint64, last *observe.Received) {
	w := newWrite(r, answer)
	w.client, w.versions = cl, &cl.written
	cl.noteBusy(w)
	defer w.takeEventBuffer()()
	cl.collectEvents(r, w)
	w.reported = cl.reports.isConnected(w.answered)
	if w.hasReceivedMade() {
		w.made = ""
	}
	cl.written.add(ownVersion{version: w.made, status: w.isStatus, answered: w.answered})
	if len(w.watches) == 0 {
		return 0, nil
	}
	if cl != r.client { // another user of the process writes to namespaces that it has not asked for
		w.ofNamespace = nil
	}
	w.baseEvent = w.findBase()
	w.leaveOutUnknown()
	c := w.candidates(w.related, w.isRelatedTo)
	cause, woken := w.findCause(c)
	if cause == nil || w.mayFollowFromLost(cause) {
		cause = &event{sentEvent: &sentEvent{}, eventSource: &eventSource{process: w.process}}
	}
	if !w.dryRun {
		cl.noteWrite(w, cause, c, woken)
		r.origin = w.versions.originOf(cause)
		cl.written.add(ownVersion{version: w.made, origin: r.origin})
	}
	if cause.isUnknown() {
		return 0, w.lastReceived()
	}
	w.noteUnseen(cause)
	if w.neverWatched {
		last = &observe.Received{}
	}
	return cause.record(r.observer), last
}

// findCause returns the likeliest cause of the write; nil if none is likely. woken is set if it need not be related.
func (w *write) findCause(c *candidates) (cause *event, woken bool) {
	if cause = w.causeOfRetry(); cause != nil {
		return cause, false
	}
	if w.busy.shared {
		cause, woken = w.chooseShared(), true
	} else if cause, woken = w.choose(c); w.busy.late && cause != nil && !w.isOnlyReason(cause, c) {
		cause = nil
	}
	if cause != nil && (w.isOfTicker(cause) || w.mayFollowFromOwner(cause) || w.mayBeginItself(cause, c) || w.reported && !w.followsSoon(cause)) {
		cause = nil
	}
	return cause, woken
}

// mayFollowFromOwner reports whether the creation of the first owner of an object that the write creates may be the cause as well
// as this event, for which the program has created that: after a pause, another controller may work for the owner.
func (w *write) mayFollowFromOwner(cause *event) bool {
	if w.existed || len(w.owners) == 0 || w.busy.shared {
		return false
	}
	r := cause.lastRun(w)
	return len(r.targets) > 0 && w.began.Sub(r.answered) > w.client.pauseLimit() && slices.ContainsFunc(w.related, func(e *event) bool {
		return e.uid == w.owners[0].UID && e.change == observe.Added && w.versions.made(e) && e.isOwnedBy(cause.uid) && e.seen().After(cause.seen())
	})
}

// mayBeginItself reports whether the written object, which the program has found when it started and has not worked for, may be the
// cause as well as another one, for which it has just written.
func (w *write) mayBeginItself(cause *event, c *candidates) bool {
	if cause.change != observe.Listed || len(w.owners) > 0 || cause.isRelatedTo(w.object, nil) {
		return false
	}
	return slices.ContainsFunc(c.listed, func(e *event) bool { return e.isOf(w.object) && e.lastRun(w).answered.IsZero() })
}

// followsSoon reports whether a write begins soon after an event, or after a write because of that. A client that reports its
// syncs makes the other writes outside of its controllers, where no event waits in a queue.
func (w *write) followsSoon(cause *event) bool {
	return w.began.Sub(cause.at) <= maxPause || cause.isContinuedBy(w, time.Time{}, maxPause)
}

// lastReceived returns the last event of another client's change in the namespace of the written object or outside of any,
// empty if none came; nil if the client cannot have reacted to one: it has no watch, or reports the syncs in which it reacts
// and has received no event of a related object, or no worker waits for the write.
func (w *write) lastReceived() *observe.Received {
	if w.routine || w.neverWatched && w.isStatus || w.reported && !w.hasReceivedRelated() {
		return nil
	}
	e := w.lastEvent(w.began, w.isReceived)
	if e == nil {
		return &observe.Received{}
	}
	last := &observe.Received{Time: e.at, Change: e.change, Object: e.object()}
	if e.client != w.client {
		last.Client = e.client.name
	}
	return last
}

// hasReceivedRelated reports whether the client had received an event of a related object, however long ago.
func (w *write) hasReceivedRelated() bool {
	to := w.began
	if len(w.events) > 0 && len(w.related) == 0 && len(w.unseen) == 0 { // none of the recent ones was of such an object
		to = to.Add(-maxReaction)
	}
	return w.lastEvent(to, w.isRelatedTo) != nil
}

// lastEvent returns the last of some events that the client had received until a time, however long ago; nil if there is none.
func (w *write) lastEvent(to time.Time, is func(*event) bool) (last *event) {
	for _, from := range w.watches {
		var since time.Time
		if last != nil {
			since = last.at
		}
		if e := from.lastEvent(since, to, is); e != nil {
			last = e
		}
	}
	return last
}

// isReceived reports whether an event is of what another client has changed in the namespace of the written object or outside of
// any, or in any if the written one is outside, except for what the control plane adds to each namespace.
func (w *write) isReceived(e *event) bool {
	isDefault := e.change == observe.Added && defaultObjects[e.resource] == e.name
	return (e.namespace == "" || w.isIn("") || w.isIn(e.namespace)) && w.isOthers(e) && !isDefault
}

// isIn reports whether the written object is in a namespace, or is that itself.
func (w *write) isIn(namespace string) bool {
	if w.object.IsNamespace() {
		return w.object.Name == namespace
	}
	return w.object.Namespace == namespace
}

// defaultObjects are the names, by resource, of what controllers create in each namespace.
var defaultObjects = map[string]string{"configmaps": "kube-root-ca.crt", "serviceaccounts": "default"}

// mayFollowFromLost reports whether an event that is forgotten may be the cause as well as this one: it is not if the write
// continues a run, or the program was idle since, or this is the first event of its object, and of another client. Of what a new
// leader has received as a standby, only the first event of the written object or of its owner is known to be the cause.
func (w *write) mayFollowFromLost(cause *event) bool {
	isFirst := cause.change == observe.Added || cause.change == observe.Listed
	if w.oldest.IsZero() {
		isFirst = isFirst && (cause.isOf(w.object) || isOwner(w.owners, cause.uid))
	}
	return w.lost.After(w.oldest) && !w.idle.from.After(w.lost) && (!isFirst || w.versions.made(cause)) &&
		!cause.isContinuedBy(w, time.Time{}, maxPause)
}

// hasReceivedMade reports whether the client had received the version that the object has after the write: that has changed
// nothing then.
func (w *write) hasReceivedMade() bool {
	if w.made == "" {
		return false
	}
	made, err := strconv.ParseUint(w.made, 10, 64)
	is := func(e *event) bool { return e.version == w.made && e.isOf(w.object) }
	return slices.ContainsFunc(w.watches, func(from *watch) bool {
		return from.Resource == w.object.GroupResource() && !(err == nil && from.isBefore(made, w.began)) && from.lastEvent(time.Time{}, w.began, is) != nil
	})
}

// causeOfRetry returns the cause of the write that this one repeats, because it had a conflict; nil if there is none. The program
// has read the object again since. What has modified that by then is none, however long the program takes, but a later change of
// it, or of another related object, may be.
func (w *write) causeOfRetry() *event {
	last := w.repeated
	if !last.conflict || last.cause.isUnknown() || !w.read.After(last.at) {
		return nil
	}
	isOtherWork := func(e *event) bool {
		since := last.at
		if e.isOf(w.object) { // what had modified it may come late
			since = since.Add(maxWork)
		}
		return w.isOthers(e) && e.seen().After(since)
	}
	if w.began.Sub(last.at) > maxPause && slices.ContainsFunc(w.related, isOtherWork) {
		return nil
	}
	w.again = last.cause
	return last.cause
}

// chooseRelated returns the likeliest of the candidates, which are related to the written object, or if the program is idle
// since then, of what these name; nil if there is none. of are those among which it is.
func (w *write) chooseRelated(c *candidates) (best *event, of *candidates) {
	best = c.choose(w)
	if best != nil && (w.began.Sub(best.at) <= maxPause || c.isContinuedBy(w)) {
		return best, c
	}
	names := w.namesInRelated()
	if len(names) == 0 {
		return best, c
	}
	all := w.candidates(w.events, func(e *event) bool { return slices.ContainsFunc(names, e.isNamedIn) })
	if named := all.choose(w); named != nil && (best == nil || w.began.Sub(named.at) <= maxPause) {
		return named, all
	}
	return best, c
}

// choose returns the likeliest event: a related one or, if the program has ended its work for that, another one, if there is
// any; then woken is set.
func (w *write) choose(c *candidates) (cause *event, woken bool) {
	related, of := w.chooseRelated(c)
	if !w.reported {
		if e, isDecided := w.chooseOther(related, of); isDecided {
			return e, true
		}
	}
	if related == nil {
		return w.candidates(w.ofNamespace, w.isNamespace).choose(w), false
	}
	if w.mayFollowWithOther(related, of) || w.isByTimer(related) && of.isFinished(related, w) {
		return nil, false
	}
	return related, false
}

// mayFollowWithOther reports whether an event is not the only one which may be the cause: the program has written nothing for it
// and has been idle since, although no key waits in the queue of an idle program, and has just worked for what another client has
// changed later.
func (w *write) mayFollowWithOther(e *event, of *candidates) bool {
	idleSince := later(w.idle.from, later(e.seen(), of.free))
	if w.idle.to.Sub(idleSince) <= maxWork || e.change == observe.Listed || len(e.lastRun(w).targets) > 0 || w.isOthers(e) && e.isOf(w.object) {
		return false // a sync of the object itself may take that long before it writes
	}
	return w.isOnlyNamedBy(e) || slices.ContainsFunc(w.events, func(other *event) bool {
		isLater := w.isOthers(other) && other.seen().After(e.seen()) && w.isInNamespaceOf(other) && other.uid != e.uid
		r := other.lastRun(w)
		return isLater && len(r.targets) > 0 && w.began.Sub(r.answered) <= maxSettle
	})
}

// isByTimer reports whether a write follows from a timer rather than from an event of those for which the program has ended its
// work. What creates an object repeats nothing. The event of a write of its own may still wait while the program was not idle.
func (w *write) isByTimer(e *event) bool {
	switch isOwn := w.versions.made(e); {
	case !w.existed && !w.deletes:
		return w.isOfChild(e)
	case isOwn && (w.deletes || w.began.Sub(w.versions.originOf(e)) > maxReaction):
		return true
	case isOwn && !w.idle.to.After(e.seen()):
		return false
	default:
		return !w.mayGoOnFor(e, isOwn)
	}
}

// mayGoOnFor reports whether a sync that has waited for something outside, such as a cloud, may go on with the write: it has written
// for the event before, or made that itself with a write of the same object, and has not made this write yet.
func (w *write) mayGoOnFor(e *event, isOwn bool) bool {
	if isOwn {
		return e.isOf(w.object) && !w.isRepeated()
	}
	return w.isNearest(e) && len(e.lastRun(w).targets) > 0 && !w.isRepeated()
}

// isRepeated reports whether the program has written the same before, since another client has changed a related object.
func (w *write) isRepeated() bool {
	var since time.Time
	for _, e := range w.related {
		if w.isOthers(e) {
			since = later(since, e.seen())
		}
	}
	return slices.ContainsFunc(w.related, func(e *event) bool {
		r := e.lastRun(w)
		return !r.began.Before(since) && slices.Contains(r.targets, w.target)
	})
}

// isOfChild reports whether an event that the program has not made is of an object with an owner, and neither of the written
// object nor of its owner: a program works for the owner.
func (w *write) isOfChild(e *event) bool {
	return w.isOthers(e) && len(e.owners) > 0 && !e.isOf(w.object) && !isOwner(w.owners, e.uid)
}

// chooseOther returns the event of an object that is not known to be related, if it is likelier than a related one, or nil if
// either may be the cause: that of the run which the write continues, or what has ended the idleness of the program.
func (w *write) chooseOther(related *event, of *candidates) (cause *event, isDecided bool) {
	isOwn := related != nil && w.versions.made(related)
	isFinished := related == nil || of.isFinished(related, w)
	if !isFinished && !isOwn {
		return nil, false
	}
	if e := w.currentRun(related, isFinished); e != nil {
		return e, true
	}
	if !isFinished || related == nil && !w.hasReceivedRelated() { // it does not work for such objects
		return nil, false
	}
	since := w.idle.from
	if isOwn { // it may have worked for other objects meanwhile
		since = of.free
	}
	e, isKnown := w.wakingEvent(since)
	return e, e != nil || related != nil && !isKnown
}

// cacheDelay is how long after an event was sent the client may still read the version before.
const cacheDelay = 2 * time.Millisecond

// leaveOutUnknown leaves out the events that are later than what the write is based on: if it
// changes a version that is not the last one which the client had received, the client had
// read the object before, for an event before. What it had not seen then is noted. Just after its own write it may have the
// version from the answer.
func (w *write) leaveOutUnknown() {
	unseen := w.laterVersions()
	if len(unseen) == 0 || w.versions.has(w.base) && w.began.Sub(w.busy.to) <= maxPause && !slices.ContainsFunc(unseen, w.versions.made) {
		return
	}
	next := slices.MinFunc(unseen, byTime)
	isUnknown := func(e *event) bool {
		return e.isOf(w.object) && !e.at.Before(next.at) || e.at.After(next.at.Add(cacheDelay))
	}
	w.unseen = unseen
	for _, list := range []*[]*event{&w.events, &w.related, &w.ofNamespace} {
		*list = slices.DeleteFunc(*list, isUnknown)
	}
}

// findBase returns the event with the version that the write changes; nil if there is none.
func (w *write) findBase() *event {
	i := slices.IndexFunc(w.related, func(e *event) bool { return w.base != "" && e.version == w.base && e.isOf(w.object) })
	if i < 0 {
		return nil
	}
	return w.related[i]
}

// noteUnseen notes what the client had not seen when it began its work for an event.
func (w *write) noteUnseen(cause *event) {
	if w.routine {
		return
	}
	for _, e := range w.unseen {
		if e != cause {
			e.noteUnseen(cause.lastRun(w).began)
		}
	}
}

// laterVersions returns the events of the written object with versions after the one that the write
// changes or, if it failed to create the object, after the deletion of the last one of that name.
func (w *write) laterVersions() (list []*event) {
	base, err := strconv.ParseUint(w.base, 10, 64)
	if err != nil && !w.isDuplicate {
		return nil
	}
	for _, e := range w.related {
		version, err := strconv.ParseUint(e.version, 10, 64)
		switch {
		case err != nil || version <= base || !e.isOf(w.object):
		case w.isDuplicate && e.change == observe.Deleted:
			list = nil
		default:
			list = append(list, e)
		}
	}
	if w.isDuplicate && len(list) > 0 && (list[0].change == observe.Updated || w.began.Sub(list[0].at) > maxWork) {
		return nil // it creates the object whether it has that or not
	}
	return list
}
