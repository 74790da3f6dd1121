package scheduler

import (
	"errors"
	"time"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics"
	schedulermetrics "k8s.io/kubernetes/pkg/scheduler/metrics"

	"github.com/ctrlplane/ctrlplane/observe"
)

// queueCounts counts the Pods that wait for the scheduler, by the queue names of the
// metric scheduler_pending_pods, and the Pods that it is working on.
type queueCounts struct {
	active        int // are scheduled next
	backoff       int // wait for the end of their backoff
	unschedulable int // wait for a change that makes them fit
	gated         int // have scheduling gates
	inFlight      int // are being scheduled or bound; counts a Pod twice between the two
}

// Observed returns what is known of the scheduler's queues: none unless it is running.
// How many Pods were added, taken and done is known with a recorder only.
func (s *Scheduler) Observed() ([]observe.Queue, error) {
	inst := s.currentInstance()
	if inst == nil {
		return nil, nil
	}
	numbers, err := inst.countQueues()
	if err != nil {
		return nil, err
	}
	row := func(name string, depth int, parked bool) observe.Queue {
		q := observe.Queue{Controller: Name, Name: name, Depth: int64(depth), Delayed: -1, Parked: parked}
		q.Adds, q.Gets = inst.cycles.totals.counts(name, q.Depth)
		q.Done = q.Gets
		return q
	}
	active := row(activeQueue, numbers.active, false)
	attempts := inst.cycles.queue.Snapshot(time.Now())
	active.InFlight = int64(numbers.inFlight)
	active.Gets, active.Done = attempts.Gets, attempts.Done
	active.Wait, active.Work, active.Unfinished, active.Longest = attempts.Wait, attempts.Work, attempts.Unfinished, attempts.Longest
	// Without a node upstream keeps Pods in this queue and tries them again without an effect, until there is one.
	noNodes := inst.upstream.Cache.NodeCount() == 0
	return []observe.Queue{
		active, row("backoff", numbers.backoff, noNodes), row(gatedQueue, numbers.gated, true), row(unschedulableQueue, numbers.unschedulable, true),
	}, nil
}

func (s *Scheduler) currentInstance() *instance {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.instance
}

// maxReads bounds how often countQueues reads the numbers again because the scheduler
// took a Pod meanwhile. While it keeps taking Pods, the numbers are not all zero.
const maxReads = 5

// countQueues returns the current numbers. It never misses a Pod: one that moves between two queues
// is counted at least once.
func (inst *instance) countQueues() (q queueCounts, err error) {
	queue := inst.upstream.SchedulingQueue
	for range maxReads {
		cycle := queue.SchedulingCycle() // counts the Pods taken from the active queue
		if q, err = inst.readQueues(); err != nil || queue.SchedulingCycle() == cycle {
			break
		}
	}
	return q, err
}

// readQueues reads the numbers in the order in which a Pod passes the queues.
// Upstream adds a Pod to the next queue before it removes it from the previous one,
// except on the way to the active queue (TestQueuesAlwaysCountPod).
func (inst *instance) readQueues() (q queueCounts, err error) {
	read := func(g metrics.GaugeMetric) int {
		n, readErr := readGauge(g)
		err = errors.Join(err, readErr)
		return n
	}
	queue := inst.upstream.SchedulingQueue
	q.inFlight = len(queue.InFlightPods())
	q.inFlight += read(schedulermetrics.Goroutines.WithLabelValues(schedulermetrics.Binding)) // not among those
	q.unschedulable = read(schedulermetrics.UnschedulablePods())
	q.gated = read(schedulermetrics.GatedPods())
	q.backoff = read(schedulermetrics.BackoffPods())
	queue.GetPod("", "", nil) // takes the queue's lock: no Pod is moving to the active queue
	q.active = read(schedulermetrics.ActivePods())
	return q, err
}

// readGauge reads one of upstream's metrics. A metric that upstream does not record,
// because it is disabled or was not registered, is an error and not zero.
func readGauge(g metrics.GaugeMetric) (int, error) {
	var m dto.Metric
	if err := g.Write(&m); err != nil {
		return 0, err
	}
	if m.Gauge == nil {
		return 0, errors.New("scheduler: a metric of the scheduling queue is not recorded: is it among --disabled-metrics?")
	}
	return int(m.Gauge.GetValue()), nil
}

// resetQueueMetrics sets the metrics of the queues to zero. Upstream only counts up
// and down, so that a second scheduler in the process would start with the Pods of
// the first.
func resetQueueMetrics() {
	schedulermetrics.Register()
	schedulermetrics.NewActiveEntitiesRecorder().Clear()
	schedulermetrics.NewBackoffEntitiesRecorder().Clear()
	schedulermetrics.NewUnschedulableEntitiesRecorder().Clear()
	schedulermetrics.NewGatedEntitiesRecorder().Clear()
}
