package observe

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
)

// journal keeps the newest records of all kinds in one ring. A second ring, which causes are
// read from, keeps those that are not background. A third one keeps notable records, so that
// many deliveries do not evict them: writes, failures and changes of state.
type journal struct {
	all, causal, notable *ring

	filling chan struct{} // receives when a part of the ring was filled

	readerWaiting atomic.Bool // a reader waits for wake
	wake          atomic.Pointer[chan struct{}]
}

func newJournal(size int) *journal {
	j := &journal{
		all:     newRing(size, func(r *Record) uint64 { return r.Seq - 1 }),
		causal:  newRing(size, func(r *Record) uint64 { return r.causalPos }),
		notable: newRing(size, func(r *Record) uint64 { return r.notablePos }),
		filling: make(chan struct{}, 1),
	}
	j.wake.Store(new(make(chan struct{})))
	return j
}

// append adds a record and returns its Seq, which it sets.
func (j *journal) append(r *Record) uint64 {
	r.Seq = j.all.reserveSlot() + 1
	causal, notable := !j.isBackground(r.Event), isNotable(r.Event)
	if causal {
		r.causalPos = j.causal.reserveSlot()
	}
	if notable {
		r.notablePos = j.notable.reserveSlot()
	}
	j.all.storeRecord(r)
	if causal {
		j.causal.storeRecord(r)
	}
	if notable {
		j.notable.storeRecord(r)
	}
	if r.Seq%uint64(max(len(j.all.slots)/8, 1)) == 0 {
		select {
		case j.filling <- struct{}{}:
		default:
		}
	}
	if j.readerWaiting.Load() && j.readerWaiting.CompareAndSwap(true, false) {
		close(*j.wake.Swap(new(make(chan struct{}))))
	}
	return r.Seq
}

func isNotable(e Event) bool {
	switch e := e.(type) {
	case *BootStep, *ControllerChanged:
		return true
	case *callEntry:
		return e.has(callIsNotable)
	case *Called:
		return e.isNotable()
	case *Synced:
		return e.Failed()
	case *Logged:
		return e.IsWarning() || e.IsError() || e.Controller == Own // such as the speed
	}
	return false
}

func (c *Called) isNotable() bool { return !c.IsRoutine() && !c.isPlainRead() || c.Event.IsWarning() }

// Wait returns when there is a record after the given Seq, or when ctx ends.
func (j *journal) Wait(ctx context.Context, after uint64) error {
	for {
		wake := *j.wake.Load()
		j.readerWaiting.Store(true)
		if j.all.next.Load() > after {
			return nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// each calls f with the records after a Seq, in order, and returns the Seq up to which it has come. Of those that
// the ring of all kinds has evicted, it has what the others keep.
func (j *journal) each(after uint64, f func(*Record)) uint64 {
	first, next := j.all.bounds()
	if after < first {
		old, _ := j.before(after, first)
		for _, r := range old {
			f(r)
		}
	}
	at := max(first, after)
	for ; at < next; at++ {
		r, gone := j.all.get(at)
		switch {
		case r != nil:
			f(r)
		case !gone: // still being written
			return at
		}
	}
	return at
}

// Records returns the records that q selects. The error is always nil.
func (j *journal) Records(_ context.Context, q Query) (Page, error) {
	first, next := j.all.bounds()
	from := max(first, q.After) // position = Seq-1, so the one after q.After
	p := Page{Last: next}
	if q.After < first {
		old, lost := j.before(q.After, first)
		for _, r := range old {
			p.addMatching(r, &q)
		}
		switch {
		case q.Notable:
			p.Missed, p.CompleteAfter = lost.notable, lost.notableBefore
		case q.Causes:
			p.Missed, p.CompleteAfter = lost.causal, lost.causalBefore
		default:
			p.Missed, p.CompleteAfter = first-q.After-uint64(len(old)), first
		}
	}
	p.Next = from
	for at := from; at < next; at++ {
		r, gone := j.all.get(at)
		if r == nil && !gone {
			break // still being written: the next query starts here
		}
		p.Next = at + 1
		if gone {
			p.Missed++
			p.CompleteAfter = at + 1
			continue
		}
		p.addMatching(r, &q)
	}
	p.keepNewest(q.Limit)
	if p.Missed+p.LeftOut == 0 {
		p.CompleteAfter = 0
	}
	return p, nil
}

// lostRecords are upper bounds for the numbers of records that were dropped, and for their Seq.
type lostRecords struct{ causal, causalBefore, notable, notableBefore uint64 }

// before returns the records, in order, after a Seq that the ring of all kinds has evicted and
// another one has not.
func (j *journal) before(after, first uint64) (list []*Record, lost lostRecords) {
	causalFrom, _ := j.causal.bounds()
	notableFrom, _ := j.notable.bounds()
	causal, oldestCausal := j.causal.between(after, first)
	notable, oldestNotable := j.notable.between(after, first)
	list = append(causal, notable...)
	slices.SortFunc(list, func(a, b *Record) int { return cmp.Compare(a.Seq, b.Seq) })
	list = slices.CompactFunc(list, func(a, b *Record) bool { return a.Seq == b.Seq })
	older := len(list) - len(causal)
	lost.causalBefore, lost.notableBefore = oldestCausal, oldestNotable
	if oldestCausal > after {
		lost.causal = min(causalFrom, oldestCausal-after) - min(causalFrom, oldestCausal-after, uint64(older))
	}
	if oldestNotable > after {
		lost.notable = min(notableFrom, oldestNotable-after)
	}
	return list, lost
}

// between returns the records of a ring whose Seq is after one and not after another, and the
// lowest position in the order of all records that the ring has or that is first.
func (r *ring) between(after, first uint64) (list []*Record, oldest uint64) {
	begin, end := r.bounds()
	oldest = first
	for at := begin; at < end; at++ {
		rec, _ := r.get(at)
		if rec == nil {
			continue
		}
		oldest = min(oldest, rec.Seq-1)
		if rec.Seq > after && rec.Seq <= first {
			list = append(list, rec)
		}
	}
	return list, oldest
}

func (p *Page) addMatching(r *Record, q *Query) {
	if selected, ok := q.Select(r); ok {
		p.Records = append(p.Records, selected)
	}
}

// addOlder adds records, in order, that the page does not have.
func (p *Page) addOlder(list []*Record, q *Query) {
	have := map[uint64]bool{}
	for i := range p.Records {
		have[p.Records[i].Seq] = true
	}
	added := 0
	for _, r := range list {
		if r.Seq <= q.After || have[r.Seq] {
			continue
		}
		if selected, ok := q.Select(r); ok {
			p.Records = append(p.Records, selected)
			added++
		}
	}
	p.Missed -= min(p.Missed, uint64(added))
	slices.SortFunc(p.Records, func(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) })
	p.keepNewest(q.Limit)
}

// keepNewest keeps the newest n records; 0 keeps all.
func (p *Page) keepNewest(n int) {
	if over := len(p.Records) - n; n > 0 && over > 0 {
		p.CompleteAfter = max(p.CompleteAfter, p.Records[over-1].Seq)
		p.Records = slices.Delete(p.Records, 0, over)
		p.LeftOut += uint64(over)
	}
}

func (j *journal) stats() JournalStats {
	first, next := j.all.bounds()
	causalFrom, _ := j.causal.bounds()
	older := j.notable.leading(func(r *Record) bool { return r.causalPos < causalFrom })
	causal := j.causal.leading(func(r *Record) bool { return r.Seq <= first })
	s := JournalStats{Last: next, First: first + 1, Size: len(j.all.slots)}
	s.Dropped = first - min(first, older+causal)
	for _, ring := range []*ring{j.causal, j.notable} {
		if r := ring.oldest(); r != nil {
			s.First = min(s.First, r.Seq)
		}
	}
	return s
}

// find returns a record that may be a cause, or nil if it was dropped. 0 is the Seq of none.
func (j *journal) find(seq uint64) *Record {
	if seq == 0 {
		return nil
	}
	if r, gone := j.all.get(seq - 1); !gone {
		return r
	}
	// Records that are appended at the same time may be in another order than their Seq.
	const nearby = 64
	first, next := j.causal.bounds()
	at := first + j.causal.leading(func(r *Record) bool { return r.Seq < seq })
	end := min(at+nearby, next)
	for at = max(at, first+nearby) - nearby; at < end; at++ {
		if r, _ := j.causal.get(at); r != nil && r.Seq == seq {
			return r
		}
	}
	return nil
}
