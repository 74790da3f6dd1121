package observe

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"
)

// Journal keeps the newest records of all kinds in one ring. A second ring keeps
// notable records, so that many deliveries and reads do not evict them: writes,
// failures and changes of state.
type Journal struct {
	all, notable *ring

	filling chan struct{} // receives when a part of the ring was filled

	readerWaiting atomic.Bool // a reader waits for wake
	wake          atomic.Pointer[chan struct{}]
}

func newJournal(size int) *Journal {
	j := &Journal{
		all:     newRing(size, func(r *Record) uint64 { return r.Seq - 1 }),
		notable: newRing(size, func(r *Record) uint64 { return r.notablePos }),
		filling: make(chan struct{}, 1),
	}
	j.wake.Store(new(make(chan struct{})))
	return j
}

// append adds a record and returns its Seq.
func (j *Journal) append(e Event, now time.Time) uint64 {
	r := &Record{Seq: j.all.reserveSlot() + 1, Time: now, Event: e}
	notable := isNotable(e)
	if notable {
		r.notablePos = j.notable.reserveSlot()
	}
	j.all.storeRecord(r)
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
	case *Called:
		return !e.IsRoutine() && !e.isPlainRead() || e.Event.IsWarning()
	case *Synced:
		return e.Failed()
	case *Logged:
		return e.Level >= 4
	}
	return false
}

// Wait returns when there is a record after the given Seq, or when ctx ends.
func (j *Journal) Wait(ctx context.Context, after uint64) error {
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

// Records returns the records that q selects. The error is always nil.
func (j *Journal) Records(_ context.Context, q Query) (Page, error) {
	first, next := j.all.bounds()
	from := max(first, q.After) // position = Seq-1, so the one after q.After
	var p Page
	if q.After < first {
		old, lost := j.notableBefore(q.After, first)
		for _, r := range old {
			p.addMatching(r, &q)
		}
		p.Missed = first - q.After - uint64(len(old))
		if q.Notable {
			p.Missed = lost
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
			continue
		}
		p.addMatching(r, &q)
	}
	p.keepNewest(q.Limit)
	return p, nil
}

// notableBefore returns the notable records after a Seq that the main ring has
// evicted, and an upper bound for the number of those that were dropped.
func (j *Journal) notableBefore(after, first uint64) (list []*Record, lost uint64) {
	begin, end := j.notable.bounds()
	oldest := first
	for at := begin; at < end; at++ {
		r, _ := j.notable.get(at)
		if r == nil {
			continue
		}
		oldest = min(oldest, r.Seq-1)
		if r.Seq > after && r.Seq <= first {
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b *Record) int { return int(int64(a.Seq) - int64(b.Seq)) })
	if oldest > after {
		lost = min(begin, oldest-after)
	}
	return list, lost
}

func (p *Page) addMatching(r *Record, q *Query) {
	if q.Match(r) {
		p.Records = append(p.Records, *r)
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
		if r.Seq > q.After && !have[r.Seq] && q.Match(r) {
			p.Records = append(p.Records, *r)
			added++
		}
	}
	p.Missed -= min(p.Missed, uint64(added))
	slices.SortFunc(p.Records, func(a, b Record) int { return cmp.Compare(a.Seq, b.Seq) })
	p.keepNewest(q.Limit)
}

// keepNewest keeps the newest n records and counts the others as missed.
func (p *Page) keepNewest(n int) {
	if over := len(p.Records) - n; n > 0 && over > 0 {
		p.Records = slices.Delete(p.Records, 0, over)
		p.Missed += uint64(over)
	}
}

func (j *Journal) stats() JournalStats {
	first, next := j.all.bounds()
	s := JournalStats{Last: next, First: first + 1, Size: len(j.all.slots), Dropped: first}
	begin, end := j.notable.bounds()
	for at := begin; at < end; at++ {
		r, _ := j.notable.get(at)
		if r == nil {
			continue
		}
		if r.Seq > first {
			break
		}
		s.First = min(s.First, r.Seq)
		s.Dropped--
	}
	return s
}
