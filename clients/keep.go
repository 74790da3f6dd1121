package clients

import (
	"slices"
	"sync/atomic"
)

// keptCount is how many changes of a client's or a controller's interventions are under way: it must not be forgotten
// meanwhile, or the change would be acknowledged and lost.
type keptCount struct{ atomic.Int64 }

func (k *keptCount) isKept() bool { return k.Load() > 0 }

// keepFound calls find until keep succeeds: what is found is not forgotten until release is called, so that what is set on it stays.
func keepFound(find func() error, keep func() (release func(), ok bool)) (release func(), err error) {
	for {
		if err := find(); err != nil {
			return nil, err
		}
		if release, ok := keep(); ok {
			return release, nil
		}
	}
}

// keep keeps clients from being forgotten until release is called. It returns false if one has been forgotten.
func (c *Clients) keep(list []*client) (release func(), ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if slices.ContainsFunc(list, func(cl *client) bool { return c.byName[cl.name] != cl }) {
		return nil, false
	}
	counts := make([]*keptCount, len(list))
	for n, cl := range list {
		counts[n] = &cl.kept
	}
	return keepAll(counts), true
}

// keepControllers is keep for controllers that clients report.
func (c *Clients) keepControllers(list []*reportedController) (release func(), ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if slices.ContainsFunc(list, func(rc *reportedController) bool { return c.controllers[rc.name] != rc }) {
		return nil, false
	}
	var counts []*keptCount
	for _, rc := range list {
		counts = append(counts, &rc.kept, &rc.client.kept)
	}
	return keepAll(counts), true
}

func keepAll(counts []*keptCount) (release func()) {
	for _, k := range counts {
		k.Add(1)
	}
	return func() {
		for _, k := range counts {
			k.Add(-1)
		}
	}
}
