package report

import (
	"cmp"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// retries knows what ended the failures of the same work. Those that end with a success are not problems: controllers work
// by trying again.
type retries struct {
	failing     map[string]bool         // work that has failed since its last resolution
	resolutions map[string][]resolution // of work that had failed, in order
	missing     map[string][]string     // resources that syncs of some work have failed to create
	syncWorks   map[uint64]string       // the work of a sync that made a failed call, by its ID
	open        map[uint64]*openSync
	deleted     map[receivedKey]receivedDeletion // at most maxDeletedKeys
}

const maxDeletedKeys = 10_000

// resolution is what ended a series of failures of some work.
type resolution struct {
	seq  uint64
	kind resolutionKind
}

type resolutionKind int

const (
	unresolved resolutionKind = iota
	succeeded
	objectDeleted // before the work has succeeded
)

// openSync is a sync that is in progress, and has failed to write or has created something.
type openSync struct {
	failed          bool     // a call
	created, missed []string // resources that it has created, and that it has failed to create
}

// receivedKey is the key of an object that a controller has received.
type receivedKey struct{ controller, key string }

// receivedDeletion is the deletion of an object that has added a key to some queues. That may be another key, such as the one of
// its owner, which may even have the same key.
type receivedDeletion struct {
	resource string
	queues   []string
	at       time.Time
	until    uint64 // failures with a smaller Seq may have ended with the deletion
}

func newRetries() *retries {
	return &retries{
		failing: map[string]bool{}, resolutions: map[string][]resolution{}, missing: map[string][]string{},
		syncWorks: map[uint64]string{}, open: map[uint64]*openSync{}, deleted: map[receivedKey]receivedDeletion{},
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

// callWork returns the work of a call. That an object exists is a failure of its own kind, which another one does not end.
func callWork(c *observe.Called) string {
	if saysExists(c) {
		return existsWork(c)
	}
	return requestWork(c)
}

func requestWork(c *observe.Called) string {
	return "call " + c.Controller + " " + c.Verb + " " + resourceName(c) + " " + c.Object.Key()
}

func existsWork(c *observe.Called) string { return requestWork(c) + " exists" }

// creation is the work of creating objects of a resource for the key of a sync: their names may be generated.
func creation(sync, resource string) string { return "create " + resource + " in " + sync }

// resolve records what ended the failures of some work, if it has failed.
func (r *retries) resolve(work string, seq uint64, kind resolutionKind) {
	if r.failing[work] {
		delete(r.failing, work)
		r.resolutions[work] = append(r.resolutions[work], resolution{seq, kind})
	}
}

// firstResolution returns what first ended the failures of some work after one of them.
func (r *retries) firstResolution(work string, failure uint64) resolution {
	for _, e := range r.resolutions[work] {
		if e.seq > failure {
			return e
		}
	}
	return resolution{seq: math.MaxUint64, kind: unresolved}
}

// addDelivered notes which objects are deleted: the next sync of their keys succeeds, and proves nothing.
func (r *retries) addDelivered(rec *observe.Record, e *observe.Delivered) {
	key := e.Object.Key()
	if e.Change == observe.Deleted {
		if len(e.Queues) == 0 {
			return
		}
		if len(r.deleted) == maxDeletedKeys {
			r.resolveOldestDeleted(maxDeletedKeys / 2)
		}
		r.deleted[receivedKey{e.Controller, key}] = receivedDeletion{e.Object.GroupResource(), e.Queues, rec.Time.Add(-e.Took), rec.Seq}
		return
	}
	for _, controller := range append([]string{e.Controller}, e.AlsoTo...) {
		if of := (receivedKey{controller, key}); r.deleted[of].resource == e.Object.GroupResource() {
			delete(r.deleted, of)
		}
	}
}

func (r *retries) addSync(rec *observe.Record, s *observe.Synced) {
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
		r.syncWorks[s.ID] = work
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
	if foundDeleted := r.syncDeleted(rec, s); s.Failed() {
		return
	} else if foundDeleted {
		r.resolveDeleted(work, rec.Seq)
		return
	}
	r.resolve(work, rec.Seq, succeeded)
	for _, resource := range made.created {
		r.resolve(creation(work, resource), rec.Seq, succeeded)
	}
}

// syncDeleted reports whether a sync has found the object of its key deleted. One that fails or writes has found it: what was
// deleted is another object of the same key.
func (r *retries) syncDeleted(rec *observe.Record, s *observe.Synced) bool {
	key := receivedKey{s.Controller, s.Key}
	o := r.deleted[key]
	if !slices.Contains(o.queues, s.Queue) {
		return false
	}
	if rec.Time.Add(-s.Took).Before(o.at) { // it may have read the object before the deletion
		o.until = rec.Seq + 1
		r.deleted[key] = o
		return false
	}
	delete(r.deleted, key)
	return !s.Failed() && s.Writes == 0
}

// resolveDeleted ends the failures of the work for an object that was deleted.
func (r *retries) resolveDeleted(work string, seq uint64) {
	r.resolve(work, seq, objectDeleted)
	for _, resource := range r.missing[work] {
		r.resolve(creation(work, resource), seq, objectDeleted)
	}
}

func (r *retries) addCall(seq uint64, c *observe.Called) {
	failed := c.IsFailure()
	if !failed && !c.IsWrite() {
		return
	}
	if !failed || saysExists(c) {
		r.resolve(requestWork(c), seq, succeeded)
	}
	if failed {
		r.failing[callWork(c)] = true
	} else {
		r.resolve(existsWork(c), seq, succeeded)
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

// resolveOldestDeleted ends the failures of the work for the first n objects that were deleted and that no sync has looked for since.
func (r *retries) resolveOldestDeleted(n int) {
	oldest := slices.SortedFunc(maps.Keys(r.deleted), func(a, b receivedKey) int { return cmp.Compare(r.deleted[a].until, r.deleted[b].until) })
	for _, of := range oldest[:n] {
		for _, queue := range r.deleted[of].queues {
			r.resolveDeleted(keyWork(of.controller, queue, of.key), r.deleted[of].until)
		}
		delete(r.deleted, of)
	}
}

// resolutionOf returns what ended the failure of a mark: the same call succeeded, or a sync of the same key did, which must have
// made what the failed call was to create.
func (r *retries) resolutionOf(m *mark) resolutionKind {
	if m.kind == writeKind && strings.HasSuffix(m.note, observe.NamespaceTerminating) {
		return objectDeleted
	}
	first := r.firstResolution(m.work, m.seq)
	if m.sync != 0 {
		work := r.syncWorks[m.sync]
		if m.creates != "" {
			work = creation(work, m.creates)
		}
		if e := r.firstResolution(work, m.seq); e.seq < first.seq || first.kind == unresolved {
			first = e
		}
	}
	return first.kind
}

// markRetried changes the tone of failures that were followed by a success, and counts what is left.
func (d *digest) markRetried() {
	d.retries.resolveOldestDeleted(len(d.retries.deleted))
	for i := range d.marks.list {
		m := &d.marks.list[i]
		if m.tone != toneFailed && m.tone != toneConflict {
			continue
		}
		switch d.retries.resolutionOf(m) {
		case succeeded:
			if m.tone == toneFailed {
				m.tone = toneRetried
			}
			if m.group != nil {
				m.group.Retried++
			}
		case objectDeleted:
			if m.group != nil {
				m.group.Deleted++
			}
			d.untilDeleted.count(m)
		default:
			d.lasting.count(m)
		}
	}
}
