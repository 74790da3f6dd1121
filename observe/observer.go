package observe

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// DefaultRecords is how many records are kept of all kinds, and again of writes,
// failures and changes of state: some 10 MB when both are full.
const DefaultRecords = 16384

// Options say what an Observer keeps and whom it asks.
type Options struct {
	// Records is how many records are kept; 0 = DefaultRecords.
	Records int
	// Queues are the work queues of the process; nil = none.
	Queues *Queues
	// More tells of further queues, which are no client-go work queues: their
	// controller, name, numbers, and whether they are Parked. May be nil.
	More func() []Queue
	// Workers tells how many workers a queue of a controller has, 0 if that is
	// not known; may be nil.
	Workers func(controller, queue string) int
	// Process tells about the process as a whole, asked once a second and for each
	// snapshot; the rates and Settled are filled in here. May be nil.
	Process func() Process
}

// Observer takes down what happens in one control plane. New starts it, Close
// ends it; what it knows can be read afterwards, too.
type Observer struct {
	// asks is nil after Close: goroutines that outlive the control plane are
	// labelled with this observer, and must not hold on to what it asks.
	asks    atomic.Pointer[Options]
	last    atomic.Pointer[Process] // the answer before Close
	queues  *Queues
	journal *Journal
	sampler *sampler

	mu        sync.Mutex
	recorders map[string]*Recorder

	syncs  atomic.Uint64
	latest atomic.Int64 // when something was written or delivered; Unix nanoseconds

	stop  context.CancelFunc
	ended chan struct{}
}

// New returns an observer at work.
func New(o Options) *Observer {
	if o.Records == 0 {
		o.Records = DefaultRecords
	}
	if o.Queues == nil {
		o.Queues = NewQueues()
	}
	ctx, stop := context.WithCancel(context.Background())
	ob := &Observer{
		queues:    o.Queues,
		journal:   newJournal(o.Records),
		recorders: map[string]*Recorder{},
		stop:      stop,
		ended:     make(chan struct{}),
	}
	ob.asks.Store(&o)
	ob.sampler = newSampler(ob)
	go func() {
		defer close(ob.ended)
		ob.sampler.run(ctx)
	}()
	return ob
}

// Close ends the sampling and forgets the queues of this control plane. It is
// idempotent.
func (o *Observer) Close() error {
	o.stop()
	<-o.ended
	o.last.Store(new(o.process()))
	o.asks.Store(nil)
	o.queues.forget(func(q *queue) bool { return q.by != nil && q.by.observer == o })
	return nil
}

// Recorder returns the recorder of a controller, or of another part with this name.
func (o *Observer) Recorder(name string) *Recorder {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.recorders[name]
	if r == nil {
		r = &Recorder{name: name, observer: o, labels: []label{{mark, name}}}
		o.recorders[name] = r
	}
	return r
}

// Current returns the recorder that the calling goroutine works for; nil if none.
func Current() *Recorder {
	if s := current(); s != nil {
		return s.by
	}
	return nil
}

// Syncing says whether the calling goroutine works on a key of a queue.
func Syncing() bool { return current().sync() != nil }

// Append adds an event that no Recorder is for.
func (o *Observer) Append(e Event) { o.append(e, time.Now()) }

func (o *Observer) append(e Event, now time.Time) uint64 { return o.journal.append(e, now) }

func (o *Observer) active(now time.Time) { raise(&o.latest, now.UnixNano()) }

// Records implements Source.
func (o *Observer) Records(ctx context.Context, q Query) (Page, error) {
	return o.journal.Records(ctx, q)
}

// Wait returns when there is a record after the given Seq, or ctx ends.
func (o *Observer) Wait(ctx context.Context, after uint64) error { return o.journal.Wait(ctx, after) }

// quiet is how long nothing may have been written or delivered before a control
// plane is called settled: what unnamed queues and timers do cannot be seen.
const quiet = 500 * time.Millisecond

// Snapshot implements Source. Its error is always nil.
func (o *Observer) Snapshot(context.Context) (Snapshot, error) {
	now := time.Now()
	s := Snapshot{Time: now, Journal: o.journal.stats()}
	live := o.queues.all()
	running := map[string][]Running{}
	for _, q := range live {
		if q.by != nil && q.by.observer != o {
			continue
		}
		v := q.snapshot(now)
		if asks := o.asks.Load(); asks != nil && asks.Workers != nil {
			v.Workers = asks.Workers(v.Controller, v.Name)
		}
		o.sampler.fill(q.id(), &v)
		s.Queues = append(s.Queues, v)
		if q.by != nil {
			running[q.by.name] = append(running[q.by.name], q.underWay()...)
		}
	}
	for _, v := range o.more() {
		o.sampler.fill(queueID{v.Controller, v.Name}, &v)
		s.Queues = append(s.Queues, v)
	}
	for _, r := range o.all() {
		c := r.snapshot()
		c.Running = running[r.name]
		c.Failing = o.sampler.failing(r.name)
		s.Controllers = append(s.Controllers, c)
	}
	s.Process = o.process()
	o.sampler.rates(&s.Process, now)
	s.Process.Busy = busy(s.Queues)
	s.Process.Settled = s.Process.State == Ready && len(s.Process.Busy) == 0 &&
		now.UnixNano()-o.latest.Load() > int64(quiet)
	return s, nil
}

// more are the queues that are no client-go work queues, by controller and name.
func (o *Observer) more() []Queue {
	asks := o.asks.Load()
	if asks == nil || asks.More == nil {
		return nil
	}
	return asks.More()
}

func (o *Observer) process() Process {
	if asks := o.asks.Load(); asks != nil && asks.Process != nil {
		return asks.Process()
	}
	if last := o.last.Load(); last != nil {
		return *last
	}
	return Process{}
}

func (o *Observer) all() []*Recorder {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list []*Recorder
	for _, r := range o.recorders {
		list = append(list, r)
	}
	slices.SortFunc(list, func(a, b *Recorder) int { return cmp.Compare(a.name, b.name) })
	return list
}

// busy names the owners of the queues that have keys to work on, the busiest first.
func busy(queues []Queue) []string {
	keys := map[string]int64{}
	var names []string
	for _, q := range queues {
		n := q.InFlight
		if !q.Parked {
			n += q.Depth
		}
		if n > 0 {
			name := cmp.Or(q.Controller, q.Name)
			if keys[name] == 0 {
				names = append(names, name)
			}
			keys[name] += n
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(keys[b], keys[a]) })
	return names
}
