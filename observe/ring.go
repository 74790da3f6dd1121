package observe

import "sync/atomic"

// ring keeps the newest records. Its writers take no lock: each has a place of
// its own, by its position, until the ring comes round.
type ring struct {
	slots []atomic.Pointer[Record]
	place func(*Record) uint64 // a record's position, set before it is put
	next  atomic.Uint64        // position of the next record
}

func newRing(size int, place func(*Record) uint64) *ring {
	return &ring{slots: make([]atomic.Pointer[Record], size), place: place}
}

// claim takes the next position.
func (r *ring) claim() uint64 { return r.next.Add(1) - 1 }

// put stores a record at its position. A writer that was held up for a whole
// round leaves the newer record there.
func (r *ring) put(rec *Record) {
	at := r.place(rec)
	slot := &r.slots[at%uint64(len(r.slots))]
	for {
		old := slot.Load()
		if old != nil && r.place(old) > at || slot.CompareAndSwap(old, rec) {
			return
		}
	}
}

// get returns the record at a position. It is nil and gone is true when a newer
// one has taken its slot, and nil alone when its writer is not done yet.
func (r *ring) get(at uint64) (rec *Record, gone bool) {
	rec = r.slots[at%uint64(len(r.slots))].Load()
	switch {
	case rec == nil || r.place(rec) < at:
		return nil, false
	case r.place(rec) > at:
		return nil, true
	}
	return rec, false
}

// bounds are the position of the oldest record that is kept and that of the next.
func (r *ring) bounds() (first, next uint64) {
	next = r.next.Load()
	if n := uint64(len(r.slots)); next > n {
		first = next - n
	}
	return first, next
}
