package report

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/ctrlplane/ctrlplane/observe"
)

// retries knows what ended the failures of the same work. Those that end with a success are not problems: controllers work
// by trying again.
type retries struct {
	failing map[string]bool     // work that has failed since its last ending
	endings map[string][]ending // of work that had failed, in order
	missing map[string][]string // resources that syncs of some work have failed to create
	ended   map[uint64]string   // the work of a sync that made a failed call, by its ID
	open    map[uint64]*openSync
	deleted map[receivedKey]goneObject
}

// ending is what ended a series of failures.
type ending struct {
	seq  uint64
	kind endingKind
}

type endingKind int

const (
	notEnded endingKind = iota
	succeeded
	objectDeleted // before the work has succeeded
)

// openSync is a sync that has not ended, and has failed to write or has created something.
type openSync struct {
	failed          bool     // a call
	created, missed []string // resources that it has created, and that it has failed to create
}

// receivedKey is the key of an object that a controller has received.
type receivedKey struct{ controller, key string }

// goneObject is an object whose key was added to some queues when it was deleted.
type goneObject struct {
	resource string
	queues   []string
}

func newRetries() *retries {
	return &retries{
		failing: map[string]bool{}, endings: map[string][]ending{}, missing: map[string][]string{},
		ended: map[uint64]string{}, open: map[uint64]*openSync{}, deleted: map[receivedKey]goneObject{},
	}
}

func syncWork(s *observe.Synced) string {
	if s.Key == "" {
		return ""
	}
	return keyWork(s.Controller, s.Queue, s.Key)
}

func keyWork(controller, queue, key string) string {
	return "sync " + controller + " " + queue + " " + key
}

func callWork(c *observe.Called) string {
	return "call " + c.Controller + " " + c.Verb + " " + resourceName(c) + " " + c.Object.Key()
}

// creation is the work of creating objects of a resource for the key of a sync: their names may be generated.
func creation(sync, resource string) string { return "create " + resource + " in " + sync }

// end records what ended the failures of some work, if it has failed.
func (r *retries) end(work string, seq uint64, kind endingKind) {
	if r.failing[work] {
		delete(r.failing, work)
		r.endings[work] = append(r.endings[work], ending{seq, kind})
	}
}

// firstEnding returns what first ended the failures of some work after one of them.
func (r *retries) firstEnding(work string, failure uint64) ending {
	for _, e := range r.endings[work] {
		if e.seq > failure {
			return e
		}
	}
	return ending{seq: math.MaxUint64, kind: notEnded}
}

// addDelivered notes which objects do not exist any more: the next sync of their keys succeeds, and proves nothing.
func (r *retries) addDelivered(e *observe.Delivered) {
	key := e.Object.Key()
	if e.Change == observe.Deleted {
		if len(e.Queues) > 0 {
			r.deleted[receivedKey{e.Controller, key}] = goneObject{e.Object.GroupResource(), e.Queues}
		}
		return
	}
	for _, controller := range append([]string{e.Controller}, e.AlsoTo...) {
		if of := (receivedKey{controller, key}); r.deleted[of].resource == e.Object.GroupResource() {
			delete(r.deleted, of)
		}
	}
}

func (r *retries) addSync(seq uint64, s *observe.Synced) {
	work := syncWork(s)
	made := r.open[s.ID]
	delete(r.open, s.ID)
	if made == nil {
		made = &openSync{}
	}
	if made.failed {
		if work == "" && !s.Failed() { // at least the sync itself succeeded
			work = "sync " + strconv.FormatUint(s.ID, 10)
		}
		r.ended[s.ID] = work
	}
	if work == "" {
		return
	}
	for _, resource := range made.missed {
		r.failing[creation(work, resource)] = true
		if !slices.Contains(r.missing[work], resource) {
			r.missing[work] = append(r.missing[work], resource)
		}
	}
	if made.failed || s.Failed() {
		r.failing[work] = true
	}
	if s.Failed() {
		return
	}
	if gone := (receivedKey{s.Controller, s.Key}); s.Writes == 0 && slices.Contains(r.deleted[gone].queues, s.Queue) {
		r.endDeleted(work, seq)
		delete(r.deleted, gone)
		return
	}
	r.end(work, seq, succeeded)
	for _, resource := range made.created {
		r.end(creation(work, resource), seq, succeeded)
	}
}

// endDeleted ends the failures of the work for an object that was deleted.
func (r *retries) endDeleted(work string, seq uint64) {
	r.end(work, seq, objectDeleted)
	for _, resource := range r.missing[work] {
		r.end(creation(work, resource), seq, objectDeleted)
	}
}

func (r *retries) addCall(seq uint64, c *observe.Called) {
	failed := c.IsFailure()
	if !failed && !c.IsWrite() {
		return
	}
	work := callWork(c)
	if !failed || saysExists(c) {
		r.end(work, seq, succeeded)
	}
	if failed {
		r.failing[work] = true
	}
	if c.Sync == 0 || !failed && !observe.Creates(c.Verb, c.Subresource, c.Status) {
		return
	}
	in := r.open[c.Sync]
	if in == nil {
		in = &openSync{}
		r.open[c.Sync] = in
	}
	switch {
	case !failed || saysExists(c):
		in.created = append(in.created, resourceName(c))
		in.failed = in.failed || failed
	default:
		in.failed = true
		if missesObject(c) {
			in.missed = append(in.missed, resourceName(c))
		}
	}
}

// saysExists reports whether a creation has failed because the object exists.
func saysExists(c *observe.Called) bool {
	return c.Verb == "create" && c.Subresource == "" && c.Status == http.StatusConflict && strings.HasSuffix(c.Error, "already exists")
}

// missesObject reports whether a failed call leaves an object missing until it is created.
func missesObject(c *observe.Called) bool {
	return c.Verb == "create" && c.Subresource == "" && !saysExists(c)
}

// endOfRun ends the failures of the work for objects that were deleted and of which no sync has ended since.
func (r *retries) endOfRun() {
	for of, o := range r.deleted {
		for _, queue := range o.queues {
			r.endDeleted(keyWork(of.controller, queue, of.key), math.MaxUint64)
		}
	}
}

// endingOf returns what ended the failure of a mark: the same call succeeded, or a sync of the same key did, which must have
// made what the failed call was to create.
func (r *retries) endingOf(m *mark) endingKind {
	if m.kind == writeKind && strings.HasSuffix(m.note, observe.NamespaceTerminating) {
		return objectDeleted
	}
	first := r.firstEnding(m.work, m.seq)
	if m.sync != 0 {
		work := r.ended[m.sync]
		if m.creates != "" {
			work = creation(work, m.creates)
		}
		if e := r.firstEnding(work, m.seq); e.seq < first.seq || first.kind == notEnded {
			first = e
		}
	}
	return first.kind
}

// markRetried changes the tone of failures that were followed by a success, and counts what is left.
func (d *digest) markRetried() {
	d.retries.endOfRun()
	for i := range d.marks.list {
		m := &d.marks.list[i]
		if m.tone != toneFailed && m.tone != toneConflict {
			continue
		}
		switch ending := d.retries.endingOf(m); {
		case ending == succeeded:
			if m.tone == toneFailed {
				m.tone = toneRetried
			}
			if m.group != nil {
				m.group.Retried++
			}
		case ending == objectDeleted:
			if m.group != nil {
				m.group.Deleted++
			}
			d.untilDeleted.count(m)
		default:
			d.lasting.count(m)
		}
	}
}
