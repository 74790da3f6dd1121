package clients

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/observe"
)

// maxReaction is how long after an event a write may still be the reaction to it.
const maxReaction = time.Minute

// maxSearchedBody is how much of the answer to a write is searched for names: for many
// events, while the request waits.
const maxSearchedBody = 16 << 10

// relation says how an event's object is related to a written one: the written one names
// it; or they are the same, or one owns the other, or both have one owner.
type relation int

const (
	referenced relation = iota
	related
)

// likelyCause returns the Seq of the record of the event that likely caused a write; 0 if
// there is none. It records the event, unless another write has done so.
//
// That is the newest event of a related object that the client had received when it sent
// the write. Objects that it has listed come later, as does what it has written itself:
// that follows from its writes, rather than causes them.
func (cl *client) likelyCause(r *request, written recording.ResponseSummary) uint64 {
	target := r.call.Object
	target.UID = cmp.Or(target.UID, written.Metadata.UID)
	events, versions := cl.receivedEvents(r)
	var body []byte
	if r.body != nil {
		body = r.body.Bytes()[:min(r.body.Len(), maxSearchedBody)]
	}
	var best candidate
	for _, rel := range []relation{related, referenced} {
		for _, e := range events {
			class := e.class(versions)
			if !best.isWorseThan(class, rel, e.at) {
				continue
			}
			if rel == related && e.isRelatedTo(target, written.Metadata.OwnerReferences) || rel == referenced && e.isNamedIn(target, body) {
				best = candidate{e, class, rel}
			}
		}
	}
	if best.event == nil {
		return 0
	}
	return best.record(r.observer, cl.name)
}

// receivedEvents returns the events that the client may have reacted to with a write, and
// the versions that it has written: a copy, as other requests need the lock.
func (cl *client) receivedEvents(r *request) (events []*event, versions []string) {
	cl.mu.Lock()
	defer cl.mu.Unlock()
	for _, w := range cl.watchesOf(r) {
		w.mu.Lock()
		for _, e := range w.events {
			if age := r.call.Began.Sub(e.at); age >= 0 && age <= maxReaction {
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

// record records the event, once, and returns the Seq of the record.
func (e *event) record(o *observe.Observer, client string) uint64 {
	e.recording.Lock()
	defer e.recording.Unlock()
	if e.seq == 0 {
		e.seq = o.AppendAt(&observe.Delivered{Controller: client, Change: e.change, Object: e.object, ResourceVersion: e.version}, e.at)
	}
	return e.seq
}

// candidate is an event that may be the cause of a write.
type candidate struct {
	*event   // nil if there is none
	class    eventClass
	relation relation
}

func (c *candidate) isWorseThan(class eventClass, rel relation, at time.Time) bool {
	return c.event == nil || cmp.Or(cmp.Compare(class, c.class), cmp.Compare(rel, c.relation), at.Compare(c.at)) > 0
}

// eventClass says how likely an event makes a client write, from the least likely.
type eventClass int

const (
	ownWrite eventClass = iota
	listing
	change
)

// class returns the class of an event of a client that has written these versions.
func (e *event) class(versions []string) eventClass {
	switch {
	case slices.Contains(versions, e.version):
		return ownWrite
	case e.change == observe.Listed:
		return listing
	}
	return change
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

// isNamedIn reports whether the answer to a write of o names the event's object.
func (e *event) isNamedIn(o observe.Object, body []byte) bool {
	return names(body, e.object.Key()) || e.object.Namespace == o.Namespace && names(body, e.object.Name)
}

// names reports whether an encoded object has a string with that value: in JSON between
// quotation marks, in protobuf after its length.
func names(body []byte, value string) bool {
	if len(value) < 3 || len(value) > 127 {
		return false
	}
	return bytes.Contains(body, []byte(`"`+value+`"`)) ||
		bytes.HasPrefix(body, []byte("k8s\x00")) && bytes.Contains(body, append([]byte{byte(len(value))}, value...))
}
