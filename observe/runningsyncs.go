package observe

import (
	"iter"
	"slices"
	"sync"
	"sync/atomic"
)

// runningSlots is how many syncs in flight of a queue are noted without a lock: few controllers have more workers.
const runningSlots = 64

// runningSyncs are the syncs in flight of a queue.
type runningSyncs struct {
	slots [runningSlots]atomic.Pointer[syncRun]

	overflow atomic.Int64 // the length of others
	mu       sync.Mutex
	others   []*syncRun // that had no slot, oldest first
}

func (r *runningSyncs) add(w *syncRun) {
	for i := range r.slots {
		if r.slots[i].CompareAndSwap(nil, w) {
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.others = append(r.others, w)
	r.overflow.Add(1)
}

func (r *runningSyncs) remove(w *syncRun) {
	for i := range r.slots {
		if r.slots[i].CompareAndSwap(w, nil) {
			return
		}
	}
	if r.overflow.Load() > 0 {
		r.removeOther(w)
	}
}

func (r *runningSyncs) removeOther(w *syncRun) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.others, w); i >= 0 {
		r.others = slices.Delete(r.others, i, i+1)
		r.overflow.Add(-1)
	}
}

// all returns the syncs, in no order.
func (r *runningSyncs) all() iter.Seq[*syncRun] {
	return func(yield func(*syncRun) bool) {
		for i := range r.slots {
			if w := r.slots[i].Load(); w != nil && !yield(w) {
				return
			}
		}
		if r.overflow.Load() == 0 {
			return
		}
		r.mu.Lock()
		others := slices.Clone(r.others)
		r.mu.Unlock()
		for _, w := range others {
			if !yield(w) {
				return
			}
		}
	}
}
