package clients

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxReaction is how long after an event a write may still be the reaction to it.
const maxReaction = time.Minute

// maxSearchedBody is how much of an object is searched for names: for many events, while
// the request waits. maxMentions is how many are found in the answer to a write.
const maxSearchedBody, maxMentions = 16 << 10, 256

const (
	// maxPause is how long a program may think between two writes for the same reason.
	maxPause = 100 * time.Millisecond
	// promptTime is how soon after an event a program begins to write that has no other work:
	// it has all objects in its cache.
	promptTime = 4 * time.Millisecond
)

// likelyCause returns the Seq of the record of the event that likely caused a write; 0 if
// there is none. It records the event, unless another write has done so.
//
// A program is taken to work as controllers do: an event of a related object queues a key,
// unless it is queued already, and one write after the other is made for it. So a write
// belongs to the run of writes that it continues, or else to the first event since that run
// began.
func (cl *client) likelyCause(r *request, answer recording.ResponseSummary) uint64 {
	events, versions := cl.knownEvents(r)
	if len(events) == 0 {
		return 0
	}
	w := newWrite(r, answer)
	c := w.candidates(events, versions, w.isRelatedTo)
	best := c.choose(w)
	if best == nil || w.began.Sub(best.at) > maxPause {
		names := w.namesInRelated(events)
		other := w.candidates(events, versions, func(e *event) bool { return slices.ContainsFunc(names, e.isNamedIn) }).choose(w)
		if other != nil && (best == nil || w.began.Sub(other.at) <= maxPause) {
			best = other
		}
	}
	if best == nil {
		return 0
	}
	return best.record(r.observer, cl.name, w, c.free)
}

// write is a write whose cause is wanted.
type write struct {
	object          observe.Object
	target          string // what it changes
	owners          []recording.OwnerReference
	names           namespacedNames // in the answer
	began, answered time.Time
	failed          bool
}

// namespacedNames are the names in an object of a namespace.
type namespacedNames struct {
	namespace string
	recording.Mentions
}

func newWrite(r *request, answer recording.ResponseSummary) *write {
	c := r.call
	w := &write{
		object: c.Object, target: groupResource(c.Object) + "/" + c.Subresource + "/" + c.Object.Key(),
		owners: answer.Metadata.OwnerReferences, began: c.Began, answered: c.Began.Add(c.Took), failed: c.Failed(),
	}
	w.object.UID = cmp.Or(w.object.UID, answer.Metadata.UID)
	w.names.namespace = w.object.Namespace
	if r.body != nil {
		w.names.Mentions = recording.MentionsIn(r.body.Bytes()[:min(r.body.Len(), maxSearchedBody)], maxMentions)
	}
	return w
}

// isRelatedTo reports whether the object of an event is the written one, or owns it, or is
// owned by it or by one of its owners, or is named in the answer.
func (w *write) isRelatedTo(e *event) bool {
	return e.isRelatedTo(w.object, w.owners) || e.isNamedIn(w.names)
}

// namesInRelated returns what the objects that are related to the written one name.
func (w *write) namesInRelated(events []*event) (list []namespacedNames) {
	for _, e := range events {
		if e.isRelatedTo(w.object, w.owners) {
			list = append(list, namespacedNames{e.object.Namespace, e.names})
		}
	}
	return list
}

// candidates are the events that may be the cause of a write: changes, what the client has
// written itself, what it has listed, and what it has listed of that.
type candidates struct {
	changes, own, listed, ownListed []*event

	last  *event    // the cause of the last run of writes; nil if there was none
	taken time.Time // when the key of that run was taken from its queue
	free  time.Time // when that run has ended
}

// candidates returns the events of the objects that are related to the written one.
func (w *write) candidates(events []*event, versions []string, isRelated func(*event) bool) *candidates {
	c := &candidates{}
	for _, e := range events {
		if w.began.Sub(e.at) > maxReaction || !isRelated(e) {
			continue
		}
		isOwn := slices.Contains(versions, e.version)
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
		if taken, answered := e.lastRun(); answered.After(c.free) {
			c.last, c.taken, c.free = e, taken, answered
		}
	}
	return c
}

// choose returns the likeliest event; nil if there is none.
func (c *candidates) choose(w *write) *event {
	if c.last != nil && c.last.isContinuedBy(w) {
		return c.last
	}
	if e := c.firstPrompt(w); e != nil {
		return e
	}
	for _, list := range [][]*event{c.changes, c.listed, c.own, c.ownListed} {
		if len(list) > 0 {
			return slices.MaxFunc(list, byTime)
		}
	}
	return nil
}

// firstPrompt returns the first event since the last run began for which a write would
// begin about now. For earlier ones there was nothing to write.
func (c *candidates) firstPrompt(w *write) *event {
	queued := slices.Concat(c.changes, c.own)
	slices.SortStableFunc(queued, byTime)
	for _, e := range queued {
		begins := e.at
		if begins.Before(c.free) {
			begins = c.free
		}
		if e.at.After(c.taken) && w.began.Sub(begins) <= promptTime {
			return e
		}
	}
	return nil
}

func byTime(a, b *event) int { return a.at.Compare(b.at) }

// writeRun is a run of writes that have an event as their likely cause.
type writeRun struct {
	taken    time.Time // when the key was taken from its queue
	answered time.Time // the last write
	failed   bool      // the last write
	targets  []string  // at most maxTargets
}

const maxTargets = 64

// isContinuedBy reports whether a write may belong to the run. A program that writes an
// object again, or goes on after a failure, does so for another reason.
func (r *writeRun) isContinuedBy(w *write) bool {
	pause := w.began.Sub(r.answered)
	return len(r.targets) > 0 && !r.failed && pause >= 0 && pause <= maxPause && !slices.Contains(r.targets, w.target)
}

func (e *event) isContinuedBy(w *write) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.writes.isContinuedBy(w)
}

func (e *event) lastRun() (taken, answered time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.writes.taken, e.writes.answered
}

// record records the event, once, as the cause of a write of a client that was free since
// then, and returns the Seq of the record.
func (e *event) record(o *observe.Observer, client string, w *write, free time.Time) uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := &e.writes; !r.isContinuedBy(w) || len(r.targets) >= maxTargets {
		*r = writeRun{taken: e.at}
		if free.After(e.at) {
			r.taken = free
		}
	}
	r := &e.writes
	r.answered, r.failed, r.targets = w.answered, w.failed, append(r.targets, w.target)
	if e.seq == 0 {
		e.seq = o.AppendAt(&observe.Delivered{Controller: client, Change: e.change, Object: e.object, ResourceVersion: e.version}, e.at)
	}
	return e.seq
}

// knownEvents returns the last events that the client had received when it sent a write,
// and the versions that it has written: a copy, as other requests need the lock.
func (cl *client) knownEvents(r *request) (events []*event, versions []string) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, w := range cl.watchesOf(r) {
		w.mu.Lock()
		for _, e := range w.events {
			if !r.call.Began.Before(e.at) {
				events = append(events, e)
			}
		}
		w.mu.Unlock()
	}
	if len(events) == 0 {
		return nil, nil
	}
	return events, slices.Clone(cl.written[:])
}

// watchesOf returns the watches whose events a write may follow: those on its
// connection. Clients of HTTP/1.1 have a connection for each watch, and all of them are
// meant if the write's has none. Not so those of kubectl: each run is a process of its
// own. The caller holds the lock.
func (cl *client) watchesOf(r *request) []*watch {
	var same []*watch
	for _, w := range cl.watches {
		if w.conn == r.req.RemoteAddr {
			same = append(same, w)
		}
	}
	if len(same) > 0 || programName(r.req.UserAgent()) == "kubectl" {
		return same
	}
	return cl.watches
}

// isRelatedTo reports whether the event's object is o, or owns it, or is owned by it or
// by one of the owners of o.
func (e *event) isRelatedTo(o observe.Object, owners []recording.OwnerReference) bool {
	return o.Same(e.object) || isOwner(owners, e.object.UID) || isOwner(e.owners, o.UID) ||
		slices.ContainsFunc(owners, func(r recording.OwnerReference) bool { return isOwner(e.owners, r.UID) })
}

func isOwner(of []recording.OwnerReference, uid string) bool {
	return uid != "" && slices.ContainsFunc(of, func(r recording.OwnerReference) bool { return r.UID == uid })
}

// isNamedIn reports whether the event's object is among some names.
func (e *event) isNamedIn(names namespacedNames) bool {
	return names.Has(e.object.Key()) || e.object.Namespace == names.namespace && names.Has(e.object.Name)
}
