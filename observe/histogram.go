package observe

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// A bucket is a quarter of a power of two wide, so its middle differs by at most
// one eighth from any value in it. The first bucket holds durations up to a
// microsecond, the last those over nine minutes.
const (
	firstBit = 10 // 1.024 µs
	lastBit  = 39
	buckets  = (lastBit-firstBit)*4 + 2
)

const (
	windowSlots = 6 // before the one being filled
	windowSlot  = 10 * time.Second
)

// histogram counts durations since the start and over the last minute.
type histogram struct {
	total tally
	slots [windowSlots + 1]struct {
		epoch atomic.Int64
		tally
	}
}

type tally struct {
	counts   [buckets]atomic.Uint32
	sum, max atomic.Int64 // nanoseconds
}

func bucketOf(d time.Duration) int {
	n := uint64(max(d, 0))
	bit := bits.Len64(n) // n is in [2^(bit-1), 2^bit)
	switch {
	case bit <= firstBit:
		return 0
	case bit > lastBit:
		return buckets - 1
	}
	return 1 + (bit-firstBit-1)*4 + int(n>>(bit-3))&3
}

// bucketMiddle returns the duration that represents a bucket.
func bucketMiddle(bucket int) time.Duration {
	if bucket == 0 {
		return 1 << (firstBit - 1)
	}
	bit, quarter := firstBit+(bucket-1)/4, (bucket-1)%4
	low := int64(4+quarter) << (bit - 2)
	return time.Duration(low + int64(1)<<(bit-3))
}

func (t *tally) add(d time.Duration) {
	t.counts[bucketOf(d)].Add(1)
	t.sum.Add(int64(d))
	storeMax(&t.max, int64(d))
}

func storeMax(v *atomic.Int64, to int64) {
	for old := v.Load(); old < to && !v.CompareAndSwap(old, to); old = v.Load() {
	}
}

// observe counts d. When a slot of the window is reused, a value added
// concurrently by another goroutine may be missing from the window.
func (h *histogram) observe(d time.Duration, now time.Time) {
	h.total.add(d)
	epoch := now.UnixNano() / int64(windowSlot)
	slot := &h.slots[epoch%int64(len(h.slots))]
	if old := slot.epoch.Load(); old != epoch && slot.epoch.CompareAndSwap(old, epoch) {
		for i := range slot.counts {
			slot.counts[i].Store(0)
		}
		slot.sum.Store(0)
		slot.max.Store(0)
	}
	slot.add(d)
}

func (h *histogram) summarizeDurations(now time.Time) Durations {
	var recent []*tally
	epoch := now.UnixNano() / int64(windowSlot)
	for i := range h.slots {
		if age := epoch - h.slots[i].epoch.Load(); age >= 0 && age <= windowSlots { // below 0: the clock was set back
			recent = append(recent, &h.slots[i].tally)
		}
	}
	return Durations{Recent: mergeQuantiles(recent...), Total: mergeQuantiles(&h.total)}
}

func mergeQuantiles(tallies ...*tally) Quantiles {
	var q Quantiles
	var counts [buckets]int64
	for _, t := range tallies {
		for i := range counts {
			n := int64(t.counts[i].Load())
			counts[i] += n
			q.Count += n
		}
		q.Sum += time.Duration(t.sum.Load())
		q.Max = max(q.Max, time.Duration(t.max.Load()))
	}
	q.P50, q.P99 = nthSmallest(counts[:], (q.Count+1)/2), nthSmallest(counts[:], q.Count-q.Count/100)
	q.P50, q.P99 = min(q.P50, q.Max), min(q.P99, q.Max)
	return q
}

// nthSmallest returns the middle of the bucket that holds the nth smallest value.
func nthSmallest(counts []int64, n int64) time.Duration {
	for i, c := range counts {
		if n -= c; n <= 0 && c > 0 {
			return bucketMiddle(i)
		}
	}
	return 0
}
