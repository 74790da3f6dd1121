package observe

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// Queues is the set of work queues of a process. Their metrics report through
// Open.
type Queues struct {
	mu     sync.Mutex // for adding and removing queues, not for using them
	live   []*queue
	series map[string]*series
}

// NewQueues returns an empty set.
func NewQueues() *Queues { return &Queues{series: map[string]*series{}} }

// Open returns the metrics of the named queue of the controller that the calling
// goroutine works for.
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
	q := &queue{name: name, recorder: by, createdBy: born, series: s, total: by.totalsOf(name), keyResource: by.keyResource(name)}
	q.quiet.Store(by.isQuiet(name))
	qs.live = append(qs.live, q)
	return QueueMetrics{q}
}

// remove removes the queues that the filter selects, and returns them. Their series and their totals stay.
func (qs *Queues) remove(drop func(*queue) bool) (removed []*queue) {
	qs.mu.Lock()
	defer qs.mu.Unlock()
	qs.live = slices.DeleteFunc(qs.live, func(q *queue) bool {
		if !drop(q) {
			return false
		}
		removed = append(removed, q)
		return true
	})
	return removed
}

// sorted returns the live queues by controller and name.
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

// queueID identifies a live queue.
type queueID struct{ controller, name string }

func (q *queue) id() queueID { return queueID{q.controllerName(), q.name} }

// Series returns the totals for every queue name so far, sorted by name: the
// values of the workqueue_* metrics.
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
			if q.name != list[i].Name {
				continue
			}
			list[i].Depth += q.depth()
			if q.recorder == nil {
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

// QueueMetrics has the metrics that a queue reports to. Each method returns a
// metric as client-go's workqueue.MetricsProvider needs it.
type QueueMetrics struct{ q *queue }

// Depth rises when a key is added and falls when a worker takes one.
func (i QueueMetrics) Depth() Gauge { return Gauge(i) }

// Adds is increased together with Depth.
func (i QueueMetrics) Adds() Adds { return Adds{} }

// Retries counts keys added with a delay.
func (i QueueMetrics) Retries() Retries { return Retries(i) }

// Wait observes how many seconds a key was queued.
func (i QueueMetrics) Wait() Wait { return Wait(i) }

// Work observes how many seconds a worker took for a key.
func (i QueueMetrics) Work() Work { return Work(i) }

// AgesKnown reports whether the ages of the syncs in flight are known without
// Unfinished and Longest, which is the case for a controller's queues.
func (i QueueMetrics) AgesKnown() bool { return i.q.recorder != nil }

// Unfinished is set to the total age in seconds of the syncs in flight. It is not
// needed if AgesKnown.
func (i QueueMetrics) Unfinished() Setting { return Setting{&i.q.series.unfinished} }

// Longest is set to the age in seconds of the oldest sync in flight. It is not
// needed if AgesKnown.
func (i QueueMetrics) Longest() Setting { return Setting{&i.q.series.longest} }

type (
	// Gauge is the type of QueueMetrics.Depth.
	Gauge struct{ q *queue }
	// Adds is the type of QueueMetrics.Adds. It does nothing: Depth counts the adds.
	Adds struct{}
	// Retries is the type of QueueMetrics.Retries.
	Retries struct{ q *queue }
	// Wait is the type of QueueMetrics.Wait.
	Wait struct{ q *queue }
	// Work is the type of QueueMetrics.Work.
	Work struct{ q *queue }
	// Setting is the type of QueueMetrics.Unfinished and QueueMetrics.Longest.
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
