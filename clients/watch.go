package clients

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/controllers/recording"
	"github.com/ctrlplane/ctrlplane/internal/peer"
	"github.com/ctrlplane/ctrlplane/observe"
)

// A watch remembers the last events, to find the cause of a write: keptEvents however old they are, and more if a write
// may still be the reaction to them, at most maxRecent, and keptRecent more than keptEvents of all watches together.
const keptEvents, maxRecent, keptRecent = 64, 4096, 16384

// watch is an open watch. Its lock is held for moments only.
type watch struct {
	observe.ClientWatch
	*eventSource
	conn    string       // of the client
	ended   time.Time    // zero if it is open; under the lock of its client
	gone    func() error // of an open one returns an error once the client has ended it
	closed  bool         // the client has ended it; under the lock of its client
	next    *watch       // of the same selection, opened after its end; under the lock of its client
	forUser string       // see forUser
	object  observe.Object

	frames *frames
	parse  frameParser // nil if only the number of events is known
	// detect finds the events among the parts of the stream.
	detect     func(part []byte) (isEvent, ok bool)
	unreadable bool // the parts are not events, or the format is unknown

	list       list // after which the client has opened the watch; zero if it is not known
	isUnopened bool // it has not opened it yet: see unopenedWatches

	sendsExisting      bool   // it begins with what exists
	beginsWithExisting bool   // without a bookmark after the initial events
	revision           uint64 // the last version when such a watch began; 0 if it is not known

	mu      sync.Mutex
	initial bool              // the initial events have not all been sent; a bookmark follows them
	events  []slot            // the last ones, in order
	forgets bool              // some of them will be forgotten
	lost    time.Time         // when the last of the others was sent
	found   map[string]*event // what the list had, by key, as far as that was asked for
}

// event is an event that was sent to a client.
type event struct {
	*sentEvent
	*eventSource
	at     time.Time
	change observe.Change

	mu     sync.Mutex
	seq    uint64     // of its record; 0 = it has none
	writes []writeRun // whose likely cause it is, of each client
	unseen time.Time  // a write shows that the client had not seen it then
}

// eventSource is what the events of a watch have in common: some are kept for longer than the watch.
type eventSource struct {
	client                       *client       // that receives them
	process                      *peer.Process // of that
	opened                       time.Time
	group, resource, watchedKind string
}

// object returns what the event is about.
func (e *event) object() observe.Object {
	return observe.Object{
		Group: e.group, Resource: e.resource, Kind: cmp.Or(e.kind, e.watchedKind), Namespace: e.namespace, Name: e.name, UID: e.uid,
	}
}

// isOf reports whether the event is about an object.
func (e *event) isOf(o observe.Object) bool { return e.name == o.Name && e.object().Same(o) }

// slot has what is asked of each event when the cause of a write is looked up: the events of many watches
// are far apart in memory.
type slot struct {
	*event
	sent   *sentEvent
	at     time.Time
	listed bool
	traits traits
}

// seen returns when the client has seen the event at the earliest.
func (e *event) seen() time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	return later(e.at, e.unseen)
}

// noteUnseen notes that the client had not seen the event at a time.
func (e *event) noteUnseen(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unseen = later(e.unseen, at)
}

// leaseTakenBy returns the new holder if the event is that of a Lease.
func (e *event) leaseTakenBy() string {
	if !e.object().IsLease() {
		return ""
	}
	return e.takenBy
}

func newWatch(req *http.Request, call *observe.Called, f *frames) *watch {
	q := req.URL.Query()
	w := &watch{conn: req.RemoteAddr, object: call.Object, gone: req.Context().Err, frames: f}
	w.eventSource = &eventSource{opened: call.Began, group: call.Object.Group, resource: call.Object.Resource, watchedKind: call.Object.Kind}
	w.ClientWatch = observe.ClientWatch{
		Resource: call.Object.GroupResource(), Namespace: call.Object.Namespace, Name: call.Object.Name,
		LabelSelector: cleanText(q.Get("labelSelector")), FieldSelector: cleanText(q.Get("fieldSelector")),
		Since: call.Began, ResourceVersion: cleanText(q.Get("resourceVersion")),
	}
	from, initial := q.Get("resourceVersion"), q.Get("sendInitialEvents")
	w.initial = initial == "true"
	w.beginsWithExisting = initial == "" && (from == "" || from == "0")
	w.sendsExisting = w.initial || w.beginsWithExisting
	return w
}

// begin is called when the response begins.
func (w *watch) begin(contentType string) {
	w.parse = recording.WatchEventParser(contentType)
	if w.detect = recording.WatchEventDetector(contentType); w.detect == nil {
		w.setUnreadable()
	}
}

// setUnreadable notes that what is sent cannot be taken apart into events.
func (w *watch) setUnreadable() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unreadable, w.Delivered = true, -1
}

// sent is called with what is to be sent: an event, or a part of the stream that a proxy has copied, as
// that of an aggregated API. It reports whether that was an event about an object.
func (w *watch) sent(frame []byte) bool {
	if w.unreadable || len(frame) == 0 {
		return false
	}
	switch isEvent, ok := w.detect(frame); {
	case !ok:
		w.setUnreadable()
		return false
	case !isEvent:
		return false
	case w.parse == nil:
		return w.count(frame)
	}
	e := w.frames.read(w.parse, frame)
	if e.change == "" {
		if e.initialEventsEnd {
			w.mu.Lock()
			w.initial = false
			w.mu.Unlock()
		}
		return false
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	change := e.change
	if change == observe.Added && (w.initial || w.existed(e.version)) {
		change = observe.Listed
	}
	w.Delivered++
	w.LastTime = now
	w.events = append(w.events, slot{&event{sentEvent: e, eventSource: w.eventSource, at: now, change: change}, e, now, change == observe.Listed, newTraits(e)})
	if len(w.events) > keptEvents {
		w.frames.recent.Add(1)
		w.forgetEvents(now, maxRecent)
		w.forgetLater()
	}
	return true
}

// forgetLater forgets events when they have become old, also if no others follow. The caller holds the lock.
func (w *watch) forgetLater() {
	if w.forgets || len(w.events) <= keptEvents {
		return
	}
	w.forgets = true
	time.AfterFunc(maxReaction+time.Second, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.forgets = false
		w.forgetEvents(time.Now(), maxRecent)
		w.forgetLater()
	})
}

// forgetEvents forgets the first events beyond keptEvents, except for at most limit recent ones. The caller holds the lock.
func (w *watch) forgetEvents(now time.Time, limit int) {
	for len(w.events) > keptEvents {
		isRecent := now.Sub(w.events[0].at) <= maxReaction
		if isRecent && len(w.events) <= limit && w.frames.recent.Load() <= keptRecent {
			return
		}
		w.lost = w.events[0].at
		w.events[0] = slot{}
		w.events = w.events[1:]
		w.frames.recent.Add(-1)
	}
}

// forgetRecent forgets all events but the last ones: many watches may end.
func (w *watch) forgetRecent() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetEvents(time.Now(), keptEvents)
	w.events = slices.Clone(w.events)
}

// isFollowedBy reports whether a write may follow from what the watch was sent: it is open, or another one continues it, or
// it ended just before, or within maxReaction and its process, which need not be known, was not idle since. The caller holds the lock of its client.
func (w *watch) isFollowedBy(wr *write) bool {
	for w.next != nil {
		w = w.next
	}
	limit := maxSettle
	if w.process.ID() == wr.process.ID() && !wr.idle.to.After(w.ended) {
		limit = maxReaction
	}
	return w.ended.IsZero() || wr.began.Sub(w.ended) <= limit
}

// forgetAll forgets all events.
func (w *watch) forgetAll() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frames.recent.Add(-int64(max(0, len(w.events)-keptEvents)))
	w.events = nil
}

// eventsBetween returns the events of a time, with both ends. The caller holds the lock.
func (w *watch) eventsBetween(from, to time.Time) []slot {
	first := sort.Search(len(w.events), func(i int) bool { return !w.events[i].at.Before(from) })
	rest := w.events[first:]
	return rest[:sort.Search(len(rest), func(i int) bool { return rest[i].at.After(to) })]
}

// lastEvent returns the last of some events of a time, without its begin; nil if there is none.
func (w *watch) lastEvent(after, to time.Time, is func(*event) bool) *event {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range slices.Backward(w.eventsBetween(after, to)) {
		if e.at.After(after) && is(e.event) {
			return e.event
		}
	}
	return nil
}

// isBefore reports whether all events until a time are of versions before one: after those that are listed, they are sent in
// the order of their versions.
func (w *watch) isBefore(version uint64, until time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	sent := w.eventsBetween(time.Time{}, until)
	if len(sent) == 0 {
		return true
	}
	last := sent[len(sent)-1]
	number, err := strconv.ParseUint(last.version, 10, 64)
	return err == nil && !last.listed && number < version
}

// existed reports whether a version is one that the watch is sent because it existed when the watch began.
func (w *watch) existed(version string) bool {
	number, err := strconv.ParseUint(version, 10, 64)
	return err == nil && number <= w.revision
}

// count counts an event that cannot be read, unless it begins as a bookmark or an error does.
func (w *watch) count(frame []byte) bool {
	start := frame[:min(len(frame), 32)]
	if bytes.Contains(start, []byte("BOOKMARK")) || bytes.Contains(start, []byte("ERROR")) {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Delivered++
	w.LastTime = time.Now()
	return true
}

func (w *watch) snapshot() observe.ClientWatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ClientWatch
}
