package observe

import (
	"math"
	"sync/atomic"
)

// BucketBounds returns the upper bounds in seconds of the buckets of
// workqueue_queue_duration_seconds and workqueue_work_duration_seconds, as in
// k8s.io/component-base/metrics/prometheus/workqueue: ten bounds from 10 ns, each
// ten times the previous one. They are computed by repeated multiplication, as
// there, so that they are equal bit by bit.
func BucketBounds() []float64 {
	bounds := make([]float64, 10)
	for i, b := 0, 10e-9; i < len(bounds); i++ {
		bounds[i] = b
		b *= 10
	}
	return bounds
}

// Series has the values of the workqueue_* metrics for all queues of one name.
type Series struct {
	Name                string
	Depth               int64
	Adds, Retries       int64
	Wait, Work          Buckets
	Unfinished, Longest float64 // seconds
}

// Buckets is a histogram with the bounds of BucketBounds.
type Buckets struct {
	Count  uint64
	Sum    float64  // seconds
	Counts []uint64 // cumulative, one per bound
}

type series struct {
	name                string
	adds, retries       atomic.Int64
	wait, work          *bucketCounter
	unfinished, longest atomicFloat
}

func newSeries(name string) *series {
	return &series{name: name, wait: newBucketCounter(), work: newBucketCounter()}
}

func (s *series) read() Series {
	return Series{
		Name:       s.name,
		Adds:       s.adds.Load(),
		Retries:    s.retries.Load(),
		Wait:       s.wait.read(),
		Work:       s.work.read(),
		Unfinished: s.unfinished.load(),
		Longest:    s.longest.load(),
	}
}

type bucketCounter struct {
	bounds []float64
	counts []atomic.Uint64 // one per bound, and one for values above the last
	sum    atomicFloat
}

func newBucketCounter() *bucketCounter {
	bounds := BucketBounds()
	return &bucketCounter{bounds: bounds, counts: make([]atomic.Uint64, len(bounds)+1)}
}

func (c *bucketCounter) observe(seconds float64) {
	i := 0
	for i < len(c.bounds) && seconds > c.bounds[i] {
		i++
	}
	c.counts[i].Add(1)
	c.sum.add(seconds)
}

func (c *bucketCounter) read() Buckets {
	b := Buckets{Sum: c.sum.load(), Counts: make([]uint64, len(c.bounds))}
	for i := range c.counts {
		b.Count += c.counts[i].Load()
		if i < len(b.Counts) {
			b.Counts[i] = b.Count
		}
	}
	return b
}

// atomicFloat is an atomic float64.
type atomicFloat struct{ bits atomic.Uint64 }

func (f *atomicFloat) load() float64   { return math.Float64frombits(f.bits.Load()) }
func (f *atomicFloat) store(v float64) { f.bits.Store(math.Float64bits(v)) }

func (f *atomicFloat) add(v float64) {
	for old := f.bits.Load(); !f.bits.CompareAndSwap(old, math.Float64bits(math.Float64frombits(old)+v)); old = f.bits.Load() {
	}
}
