package observe

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// lagGrace is how long a handler that lacks a write which its informer has had may
// be silent before it is taken to have all: after a new list, deletions come
// with versions that are older than they are.
const lagGrace = 500 * time.Millisecond

// versions are the newest of each resource that have been written.
type versions struct{ of sync.Map } // RESOURCE[.GROUP] → *newest

type newestVersion struct {
	version atomic.Int64
	at      atomic.Int64 // Unix nanoseconds
}

func (v *versions) get(resource string) *newestVersion {
	n, ok := v.of.Load(resource)
	if !ok {
		n, _ = v.of.LoadOrStore(resource, new(newestVersion))
	}
	return n.(*newestVersion)
}

// NoteVersion notes that there is a newer version of a resource, RESOURCE or
// RESOURCE.GROUP. It takes no lock.
func (o *Observer) NoteVersion(resource string, version int64) {
	n := o.versions.get(resource)
	n.at.Store(time.Now().UnixNano())
	storeMax(&n.version, version)
}

// ForgetResource forgets a resource that there is no more.
func (o *Observer) ForgetResource(resource string) { o.versions.of.Delete(resource) }

// InformerState is what a Handler asks of what tells it; both may be called at any time.
type InformerState struct {
	Version func() string // up to which it has been told itself
	Listed  func() bool   // the handler has been told what there was when it was added
}

// Handler is an event handler of a controller: how far it has been told. A nil
// one notes nothing.
type Handler struct {
	recorder    *Recorder
	resource    string
	baseVersion int64 // the newest version when it was added
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

// SetInformer says who tells the handler.
func (h *Handler) SetInformer(i InformerState) {
	if h != nil {
		h.informer.Store(&i)
	}
}

// MarkDelivered notes the version of an event that the handler has been given, and is
// through with.
func (h *Handler) MarkDelivered(version string) {
	if h == nil {
		return
	}
	h.lastEvent.Store(time.Now().UnixNano())
	if n, err := strconv.ParseInt(version, 10, 64); err == nil {
		storeMax(&h.version, n)
	}
}

// Close ends it.
func (h *Handler) Close() {
	if h != nil {
		h.recorder.observer.handlers.remove(h)
	}
}

// lag tells whether the handler lacks the newest version of its resource.
func (h *Handler) lag(now time.Time) (WatchLag, bool) {
	of := h.recorder.observer.versions.get(h.resource)
	b := WatchLag{Resource: h.resource, Delivered: h.version.Load(), Written: of.version.Load()}
	if b.Delivered >= b.Written {
		return b, false
	}
	i := h.informer.Load()
	if i == nil {
		return b, true
	}
	if has, err := strconv.ParseInt(i.Version(), 10, 64); err != nil || has < b.Written || !i.Listed() {
		return b, true
	}
	if b.Written <= h.baseVersion { // it was among what was listed
		return b, false
	}
	return b, now.UnixNano()-max(h.lastEvent.Load(), of.at.Load()) < int64(lagGrace)
}

// handlers are those of all controllers.
type handlers struct {
	mu  sync.Mutex // for adding and removing; no handler waits for it
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

func (s *handlers) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
}

// lags are the resources that controllers have not been told all of, the most
// of each.
func (s *handlers) lags(now time.Time) map[*Recorder][]WatchLag {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[*Recorder][]WatchLag{}
	for h := range s.all {
		b, is := h.lag(now)
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
