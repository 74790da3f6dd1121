package observe

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// lagGrace is how long a handler may lack a write that its informer has received.
// After that it counts as up to date: after a relist, deletions are delivered with
// versions older than the deletion itself.
const lagGrace = 500 * time.Millisecond

// versions holds the newest version written of each resource, RESOURCE or RESOURCE.GROUP.
type versions = growingMap[string, newestVersion]

type newestVersion struct {
	version atomic.Int64
	at      atomic.Int64 // Unix nanoseconds
}

// NoteVersion records that a newer version of a resource, RESOURCE or
// RESOURCE.GROUP, was written. It takes no lock.
func (o *Observer) NoteVersion(resource string, version int64) {
	n := o.versions.get(resource)
	n.at.Store(time.Now().UnixNano())
	storeMax(&n.version, version)
}

// ForgetResource removes a resource that is no longer served.
func (o *Observer) ForgetResource(resource string) { o.versions.remove(resource) }

// InformerState gives access to the informer of a Handler. Both functions may be
// called at any time.
type InformerState struct {
	Version func() string // the last version that the informer received
	Listed  func() bool   // the handler has received the objects that existed when it was added
}

// Handler tracks which version of a resource has been delivered to an event
// handler. The methods of a nil Handler do nothing.
type Handler struct {
	recorder    *Recorder
	resource    string
	baseVersion int64 // newest version when it was added
	informer    atomic.Pointer[InformerState]
	version     atomic.Int64
	lastEvent   atomic.Int64 // Unix nanoseconds
}

// AddHandler registers a handler that is about to be added to an informer, until it
// is closed. A nil Recorder returns a nil Handler.
func (r *Recorder) AddHandler(resource string) *Handler {
	if r == nil {
		return nil
	}
	r.AddWatch(resource)
	h := &Handler{recorder: r, resource: resource, baseVersion: r.observer.versions.get(resource).version.Load()}
	h.lastEvent.Store(time.Now().UnixNano())
	r.observer.handlers.add(h)
	return h
}

// SetInformer sets the informer that delivers to the handler.
func (h *Handler) SetInformer(i InformerState) {
	if h != nil {
		h.informer.Store(&i)
	}
}

// MarkDelivered records the version of an event that the handler has processed, and when.
func (h *Handler) MarkDelivered(version string, at time.Time) {
	if h == nil {
		return
	}
	h.lastEvent.Store(at.UnixNano())
	storeMax(&h.version, int64(VersionNumber(version)))
}

// Close stops tracking the handler.
func (h *Handler) Close() {
	if h != nil {
		h.recorder.observer.handlers.remove(h)
	}
}

// currentLag reports whether the handler lacks the newest version of its resource.
func (h *Handler) currentLag(now time.Time) (WatchLag, bool) {
	of := h.recorder.observer.versions.get(h.resource)
	b := WatchLag{Resource: h.resource, Delivered: h.version.Load(), Written: of.version.Load()}
	if b.Delivered >= b.Written {
		return b, false
	}
	i := h.informer.Load()
	if i == nil {
		return b, true
	}
	if int64(VersionNumber(i.Version())) < b.Written || !i.Listed() {
		return b, true
	}
	if b.Written <= h.baseVersion { // it was part of the initial list
		return b, false
	}
	age := now.Sub(time.Unix(0, max(h.lastEvent.Load(), of.at.Load())))
	return b, age.Abs() < lagGrace // not if the clock was set back
}

// handlers holds the handlers of all controllers.
type handlers struct {
	mu  sync.Mutex // for adding, removing and reading; no event waits for it
	all map[*Handler]bool
}

func (s *handlers) add(h *Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[*Handler]bool{}
	}
	s.all[h] = true
}

func (s *handlers) remove(h *Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, h)
}

func (s *handlers) removeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
}

// lagsByRecorder returns the resources whose newest version was not delivered yet, by
// controller.
func (s *handlers) lagsByRecorder(now time.Time) map[*Recorder][]WatchLag {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[*Recorder][]WatchLag{}
	for h := range s.all {
		b, is := h.currentLag(now)
		if !is {
			continue
		}
		list := all[h.recorder]
		if i := slices.IndexFunc(list, func(o WatchLag) bool { return o.Resource == b.Resource }); i >= 0 {
			list[i].Delivered = min(list[i].Delivered, b.Delivered)
			continue
		}
		all[h.recorder] = append(list, b)
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b WatchLag) int { return cmp.Compare(a.Resource, b.Resource) })
	}
	return all
}
