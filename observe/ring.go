package observe

import (
	"sort"
	"sync/atomic"
)

// ring keeps the newest records. Writers take no lock: each record has a slot of
// its own, given by its position, until the ring wraps around.
type ring struct {
	slots []atomic.Pointer[Record]
	place func(*Record) uint64 // returns a record's position, which is set before storeRecord
	next  atomic.Uint64        // position of the next record
}

func newRing(size int, place func(*Record) uint64) *ring {
	return &ring{slots: make([]atomic.Pointer[Record], size), place: place}
}

// reserveSlot returns the next position and reserves it.
func (r *ring) reserveSlot() uint64 { return r.next.Add(1) - 1 }

// storeRecord stores a record at its position. If the ring has wrapped around meanwhile,
// the newer record stays.
func (r *ring) storeRecord(rec *Record) {
	at := r.place(rec)
	slot := &r.slots[at%uint64(len(r.slots))]
	for {
		old := slot.Load()
		// Looking at a record that was stored long ago takes longer than all the rest. It need
		// not be done as long as no later position has the slot.
		if isLast := r.next.Load()-at <= uint64(len(r.slots)); !isLast && old != nil && r.place(old) > at || slot.CompareAndSwap(old, rec) {
			return
		}
	}
}

// get returns the record at a position. It returns nil and true if a newer record
// has taken the slot, and nil and false if the record is still being written.
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

// holds reports whether the ring still has a record.
func (r *ring) holds(rec *Record) bool {
	return r.slots[r.place(rec)%uint64(len(r.slots))].Load() == rec
}

// bounds returns the positions of the oldest kept record and of the next record.
func (r *ring) bounds() (first, next uint64) {
	next = r.next.Load()
	if n := uint64(len(r.slots)); next > n {
		first = next - n
	}
	return first, next
}

// oldest returns the oldest record, or nil.
func (r *ring) oldest() *Record {
	for at, next := r.bounds(); at < next; at++ {
		if rec, gone := r.get(at); !gone {
			return rec
		}
	}
	return nil
}

// leading returns how many of the oldest records a condition holds for that holds for no later
// one.
func (r *ring) leading(holds func(*Record) bool) uint64 {
	first, next := r.bounds()
	return uint64(sort.Search(int(next-first), func(i int) bool { //nolint:gosec // at most the size of the ring
		rec, gone := r.get(first + uint64(i)) //nolint:gosec // not negative
		return !gone && (rec == nil || !holds(rec))
	}))
}
