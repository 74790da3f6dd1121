package instrument

import (
	"container/heap"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// delayedKeys are the keys that wait for their time, in the order in which they are due: a report must
// not look at each of them.
type delayedKeys struct {
	of    map[reconcile.Request]*pendingKey
	order dueOrder
}

func newDelayedKeys() delayedKeys {
	return delayedKeys{of: map[reconcile.Request]*pendingKey{}}
}

// first returns the key that is due first; nil if there is none.
func (d *delayedKeys) first() *pendingKey {
	if len(d.order) == 0 {
		return nil
	}
	return d.order[0]
}

// set adds a key, in place of an add of the same one.
func (d *delayedKeys) set(p *pendingKey) {
	if before := d.of[p.key]; before != nil {
		d.remove(before)
	}
	d.of[p.key] = p
	heap.Push(&d.order, p)
}

func (d *delayedKeys) remove(p *pendingKey) {
	delete(d.of, p.key)
	heap.Remove(&d.order, p.index)
}

// moved is called when it has changed when a key is due.
func (d *delayedKeys) moved(p *pendingKey) { heap.Fix(&d.order, p.index) }

// dueOrder is a heap of keys. Those whose delay the rate limiter has not said are the last ones.
type dueOrder []*pendingKey

// Len implements heap.Interface.
func (o dueOrder) Len() int { return len(o) }

// Less implements heap.Interface.
func (o dueOrder) Less(i, j int) bool {
	a, b := o[i], o[j]
	if a.limited != b.limited {
		return b.limited
	}
	return a.due.Before(b.due)
}

// Swap implements heap.Interface.
func (o dueOrder) Swap(i, j int) {
	o[i], o[j] = o[j], o[i]
	o[i].index, o[j].index = i, j
}

// Push implements heap.Interface.
func (o *dueOrder) Push(x any) {
	p := x.(*pendingKey)
	p.index = len(*o)
	*o = append(*o, p)
}

// Pop implements heap.Interface.
func (o *dueOrder) Pop() any {
	last := len(*o) - 1
	p := (*o)[last]
	(*o)[last] = nil
	*o = (*o)[:last]
	return p
}
