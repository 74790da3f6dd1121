package scheduler

import (
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
	InFlight      int `json:"inFlight"`      // are being tried or bound
}

// Queues returns the numbers as they are now; zeros unless the scheduler runs.
func (s *Scheduler) Queues() (Queues, error) {
	s.mu.Lock()
	l := s.life
	s.mu.Unlock()
	if l == nil {
		return Queues{}, nil
	}
	q := Queues{InFlight: len(l.upstream.SchedulingQueue.InFlightPods())}
	for _, g := range []struct {
		gauge metrics.GaugeMetric
		to    *int
	}{
		{schedulermetrics.ActivePods(), &q.Active},
		{schedulermetrics.BackoffPods(), &q.Backoff},
		{schedulermetrics.UnschedulablePods(), &q.Unschedulable},
		{schedulermetrics.GatedPods(), &q.Gated},
	} {
		var m dto.Metric
		if err := g.gauge.Write(&m); err != nil {
			return Queues{}, err
		}
		*g.to = int(m.GetGauge().GetValue())
	}
	return q, nil
}

// emptyQueues forgets the pods of a scheduler that ran earlier in this process:
// upstream counts up and down, but does not begin anew.
func emptyQueues() {
	schedulermetrics.Register()
	schedulermetrics.NewActiveEntitiesRecorder().Clear()
	schedulermetrics.NewBackoffEntitiesRecorder().Clear()
	schedulermetrics.NewUnschedulableEntitiesRecorder().Clear()
	schedulermetrics.NewGatedEntitiesRecorder().Clear()
}
