package observe

import (
	"cmp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// told is how long a handler that lacks a write which its informer has had may
// be silent before it is taken to have all: after a new list, deletions come
// with versions that are older than they are.
const told = 500 * time.Millisecond

// versions are the newest of each resource that have been written.
type versions struct{ of sync.Map } // RESOURCE[.GROUP] → *newest

type newest struct {
	version atomic.Int64
	at      atomic.Int64 // Unix nanoseconds
}

func (v *versions) get(resource string) *newest {
	n, ok := v.of.Load(resource)
	if !ok {
		n, _ = v.of.LoadOrStore(resource, new(newest))
	}
	return n.(*newest)
}

// Wrote notes that there is a newer version of a resource, RESOURCE or
// RESOURCE.GROUP. It takes no lock.
func (o *Observer) Wrote(resource string, version int64) {
	n := o.versions.get(resource)
	n.at.Store(time.Now().UnixNano())
	raise(&n.version, version)
}

// Forget forgets a resource that there is no more.
func (o *Observer) Forget(resource string) { o.versions.of.Delete(resource) }

// Informer is what a Handler asks of what tells it; both may be called at any time.
type Informer struct {
	Version func() string // up to which it has been told itself
	Listed  func() bool   // the handler has been told what there was when it was added
}

// Handler is an event handler of a controller: how far it has been told. A nil
// one notes nothing.
type Handler struct {
	by       *Recorder
	resource string
	base     int64 // the newest version when it was added
	informer atomic.Pointer[Informer]
	version  atomic.Int64
	at       atomic.Int64 // Unix nanoseconds
}

// Handler notes a handler that is about to be added, until it is closed.
func (r *Recorder) Handler(resource string) *Handler {
	r.Watch(resource)
	h := &Handler{by: r, resource: resource, base: r.observer.versions.get(resource).version.Load()}
	h.at.Store(time.Now().UnixNano())
	r.observer.handlers.add(h)
	return h
}

// Added says who tells the handler.
func (h *Handler) Added(i Informer) {
	if h != nil {
		h.informer.Store(&i)
	}
}

// Told notes the version of an event that the handler has been given, and is
// through with.
func (h *Handler) Told(version string) {
	if h == nil {
		return
	}
	h.at.Store(time.Now().UnixNano())
	if n, err := strconv.ParseInt(version, 10, 64); err == nil {
		raise(&h.version, n)
	}
}

// Close ends it.
func (h *Handler) Close() {
	if h != nil {
		h.by.observer.handlers.drop(h)
	}
}

// behind tells whether the handler lacks the newest version of its resource.
func (h *Handler) behind(now time.Time) (Behind, bool) {
	of := h.by.observer.versions.get(h.resource)
	b := Behind{Resource: h.resource, Told: h.version.Load(), Written: of.version.Load()}
	if b.Told >= b.Written {
		return b, false
	}
	i := h.informer.Load()
	if i == nil {
		return b, true
	}
	if has, err := strconv.ParseInt(i.Version(), 10, 64); err != nil || has < b.Written || !i.Listed() {
		return b, true
	}
	if b.Written <= h.base { // it was among what was listed
		return b, false
	}
	return b, now.UnixNano()-max(h.at.Load(), of.at.Load()) < int64(told)
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

func (s *handlers) drop(h *Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, h)
}

func (s *handlers) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = nil
}

// behind are the resources that controllers have not been told all of, the most
// of each.
func (s *handlers) behind(now time.Time) map[*Recorder][]Behind {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[*Recorder][]Behind{}
	for h := range s.all {
		b, is := h.behind(now)
		if !is {
			continue
		}
		list := all[h.by]
		if i := slices.IndexFunc(list, func(o Behind) bool { return o.Resource == b.Resource }); i >= 0 {
			list[i].Told = min(list[i].Told, b.Told)
			continue
		}
		all[h.by] = append(list, b)
	}
	for _, list := range all {
		slices.SortFunc(list, func(a, b Behind) int { return cmp.Compare(a.Resource, b.Resource) })
	}
	return all
}
