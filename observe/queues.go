package observe

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Queues are the work queues of a process. What their metrics tell comes in
// through Open.
type Queues struct {
	mu     sync.Mutex // for making and forgetting queues, never for using them
	live   []*queue
	series map[string]*series
}

// NewQueues returns an empty set.
func NewQueues() *Queues { return &Queues{series: map[string]*series{}} }

// Open returns the instruments of the queue with this name that belongs to the
// controller that the calling goroutine works for.
func (qs *Queues) Open(name string) QueueMetrics {
	born := currentScope()
	var by *Recorder
	if born != nil {
		by = born.recorder
	}
	qs.mu.Lock()
	defer qs.mu.Unlock()
	for _, q := range qs.live {
		if q.name == name && q.recorder == by {
			return QueueMetrics{q}
		}
	}
	s := qs.series[name]
	if s == nil {
		s = newSeries(name)
		qs.series[name] = s
	}
	q := &queue{name: name, recorder: by, createdBy: born, series: s}
	qs.live = append(qs.live, q)
	return QueueMetrics{q}
}

// remove drops the queues that the filter selects; their series stay.
func (qs *Queues) remove(drop func(*queue) bool) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.live = slices.DeleteFunc(qs.live, func(q *queue) bool {
		if !drop(q) {
			return false
		}
		q.closed.Store(true)
		return true
	})
}

// sorted returns the queues that live, by controller and name.
func (qs *Queues) sorted() []*queue {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	list := slices.Clone(qs.live)
	slices.SortStableFunc(list, func(a, b *queue) int {
		return cmp.Or(cmp.Compare(a.controllerName(), b.controllerName()), cmp.Compare(a.name, b.name))
	})
	return list
}

func (q *queue) controllerName() string {
	if q.recorder == nil {
		return ""
	}
	return q.recorder.name
}

// queueID is what tells queues that live apart.
type queueID struct{ controller, name string }

func (q *queue) id() queueID { return queueID{q.controllerName(), q.name} }

// Series returns the totals of each queue name that there has ever been, by
// name: what the workqueue_* metrics are to say.
func (qs *Queues) Series() []Series {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	now := time.Now()
	list := make([]Series, 0, len(qs.series))
	for _, s := range qs.series {
		list = append(list, s.read())
	}
	for i := range list {
		for _, q := range qs.live {
			if q.recorder == nil || q.name != list[i].Name {
				continue
			}
			all, longest := q.runningAges(now)
			list[i].Unfinished += all.Seconds()
			list[i].Longest = max(list[i].Longest, longest.Seconds())
		}
	}
	slices.SortFunc(list, func(a, b Series) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// QueueMetrics are where a queue reports. Each method returns a metric in the
// shape that client-go's workqueue.MetricsProvider has to give.
type QueueMetrics struct{ q *queue }

// Depth rises when a key is added and falls when a worker takes one.
func (i QueueMetrics) Depth() Gauge { return Gauge(i) }

// Adds counts the same adds.
func (i QueueMetrics) Adds() Adds { return Adds{} }

// Retries counts keys that are put back for later.
func (i QueueMetrics) Retries() Retries { return Retries(i) }

// Wait measures the seconds that a key is in the queue.
func (i QueueMetrics) Wait() Wait { return Wait(i) }

// Work measures the seconds that a worker takes for a key.
func (i QueueMetrics) Work() Work { return Work(i) }

// AgesKnown says whether the ages of the keys in work are known without being told:
// those of a controller's are.
func (i QueueMetrics) AgesKnown() bool { return i.q.recorder != nil }

// Unfinished is told the seconds that the keys in work have taken, unless Ages.
func (i QueueMetrics) Unfinished() Setting { return Setting{&i.q.series.unfinished} }

// Longest is told the seconds that the slowest key in work has taken, unless Ages.
func (i QueueMetrics) Longest() Setting { return Setting{&i.q.series.longest} }

type (
	// Gauge is Instruments.Depth.
	Gauge struct{ q *queue }
	// Adds is Instruments.Adds. Depth rises with every add, so it does nothing.
	Adds struct{}
	// Retries is Instruments.Retries.
	Retries struct{ q *queue }
	// Wait is Instruments.Wait.
	Wait struct{ q *queue }
	// Work is Instruments.Work.
	Work struct{ q *queue }
	// Setting is Instruments.Unfinished and Instruments.Longest.
	Setting struct{ f *atomicFloat }
)

func (g Gauge) Inc()                            { g.q.keyAdded() }
func (g Gauge) Dec()                            { g.q.keyTaken() }
func (Adds) Inc()                               {}
func (r Retries) Inc()                          { r.q.keyRetried() }
func (w Wait) Observe(seconds float64)          { w.q.waitMeasured(fromSeconds(seconds)) }
func (w Work) Observe(seconds float64)          { w.q.keyDone(fromSeconds(seconds)) }
func (s Setting) Set(seconds float64)           { s.f.store(seconds) }
func fromSeconds(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
