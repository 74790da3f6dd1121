// Package queues makes every named work queue of the process report to observe.
//
// client-go accepts the first metrics provider only, and component-base sets its
// own in an init function. Go initializes packages whose imports are initialized
// in the order of their paths. This package is therefore first as long as it
// imports only observe, which needs the standard library only, and workqueue.
// TestProviderIsRegisteredFirst fails if it is not.
package queues

import (
	"k8s.io/client-go/util/workqueue"

	"github.com/ctrlplane/ctrlplane/observe"
)

// processQueues are the queues of the process, as the provider is process-wide.
var processQueues = observe.NewQueues()

func init() { workqueue.SetProvider(Provider{processQueues}) }

// All returns the work queues of the process.
func All() *observe.Queues { return processQueues }

// Provider makes the queues that use it report to Queues.
type Provider struct{ Queues *observe.Queues }

var _ workqueue.MetricsProvider = Provider{}

func (p Provider) NewDepthMetric(name string) workqueue.GaugeMetric {
	return p.Queues.Open(name).Depth()
}

func (p Provider) NewAddsMetric(name string) workqueue.CounterMetric {
	return p.Queues.Open(name).Adds()
}

func (p Provider) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return p.Queues.Open(name).Wait()
}

func (p Provider) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return p.Queues.Open(name).Work()
}

func (p Provider) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	if i := p.Queues.Open(name); !i.AgesKnown() {
		return i.Unfinished()
	}
	return tickStopper{}
}

func (p Provider) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	if i := p.Queues.Open(name); !i.AgesKnown() {
		return i.Longest()
	}
	return tickStopper{}
}

func (p Provider) NewRetriesMetric(name string) workqueue.CounterMetric {
	return p.Queues.Open(name).Retries()
}
