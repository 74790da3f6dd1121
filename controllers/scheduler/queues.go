package scheduler

import (
	"errors"

	dto "github.com/prometheus/client_model/go"
	"k8s.io/component-base/metrics"
	schedulermetrics "k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Queues counts the pods that wait for the scheduler, by the names of its
// metric scheduler_pending_pods, and those that it is at work on.
type Queues struct {
	Active        int `json:"active"`        // are to be tried next
	Backoff       int `json:"backoff"`       // wait until it is time to try again
	Unschedulable int `json:"unschedulable"` // wait for a change that makes them fit
	Gated         int `json:"gated"`         // are not to be tried yet
	InFlight      int `json:"inFlight"`      // are being tried or bound; twice while a plugin holds one between the two
}

// maxReads bounds how often the numbers are read anew because a pod was taken
// meanwhile; while that goes on they are not zero.
const maxReads = 5

// Queues returns the numbers as they are now; zeros unless the scheduler runs.
// A pod on its way from one to the next is in one of them at least.
func (s *Scheduler) Queues() (q Queues, err error) {
	s.mu.Lock()
	l := s.instance
	s.mu.Unlock()
	if l == nil {
		return Queues{}, nil
	}
	queue := l.upstream.SchedulingQueue
	for range maxReads {
		cycle := queue.SchedulingCycle() // counts the pods that were taken
		if q, err = l.readQueues(); err != nil || queue.SchedulingCycle() == cycle {
			break
		}
	}
	return q, err
}

// readQueues reads the numbers in the order in which a pod comes by. Upstream adds it to
// the next before it takes it from the last, but on its way to the active queue.
func (l *instance) readQueues() (q Queues, err error) {
	read := func(g metrics.GaugeMetric) int {
		var m dto.Metric
		err = errors.Join(err, g.Write(&m))
		return int(m.GetGauge().GetValue())
	}
	queue := l.upstream.SchedulingQueue
	q.InFlight = len(queue.InFlightPods())
	q.InFlight += read(schedulermetrics.Goroutines.WithLabelValues(schedulermetrics.Binding)) // no longer in flight
	q.Unschedulable = read(schedulermetrics.UnschedulablePods())
	q.Gated = read(schedulermetrics.GatedPods())
	q.Backoff = read(schedulermetrics.BackoffPods())
	queue.GetPod("", "", nil) // waits until nobody moves pods to the active queue
	q.Active = read(schedulermetrics.ActivePods())
	return q, err
}

// resetQueueMetrics forgets the pods of a scheduler that ran earlier in this process:
// upstream counts up and down, but does not begin anew.
func resetQueueMetrics() {
	schedulermetrics.Register()
	schedulermetrics.NewActiveEntitiesRecorder().Clear()
	schedulermetrics.NewBackoffEntitiesRecorder().Clear()
	schedulermetrics.NewUnschedulableEntitiesRecorder().Clear()
	schedulermetrics.NewGatedEntitiesRecorder().Clear()
}
