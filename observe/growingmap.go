package observe

import (
	"maps"
	"math"
	"sync"
	"sync/atomic"
)

// growingMap is a map to which keys are hardly ever added. Reading takes no lock and allocates
// nothing, unlike sync.Map, whose keys are interfaces.
type growingMap[K comparable, V any] struct {
	mu  sync.Mutex // for adding and removing
	all atomic.Pointer[map[K]*V]
}

// entries returns all entries, which must not be changed.
func (g *growingMap[K, V]) entries() map[K]*V {
	if m := g.all.Load(); m != nil {
		return *m
	}
	return nil
}

// get returns the value of a key, a new one if there is none.
func (g *growingMap[K, V]) get(key K) *V { return g.getUpTo(math.MaxInt, key) }

// getUpTo is get, but returns nil for a key that would be one too many.
func (g *growingMap[K, V]) getUpTo(most int, key K) *V {
	return g.getOrAdd(most, key, func() *V { return new(V) })
}

// getOrAdd is getUpTo with the value of a key that is added.
func (g *growingMap[K, V]) getOrAdd(most int, key K, value func() *V) *V {
	if v := g.entries()[key]; v != nil || len(g.entries()) >= most {
		return v
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if v := g.entries()[key]; v != nil {
		return v
	}
	v := value()
	g.change(func(m map[K]*V) { m[key] = v })
	return v
}

func (g *growingMap[K, V]) remove(key K) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.change(func(m map[K]*V) { delete(m, key) })
}

// change replaces the map by a changed copy. The caller holds the lock.
func (g *growingMap[K, V]) change(f func(map[K]*V)) {
	m := maps.Clone(g.entries())
	if m == nil {
		m = map[K]*V{}
	}
	f(m)
	g.all.Store(&m)
}
