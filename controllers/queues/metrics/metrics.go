// Package metrics exports the numbers of work queues as workqueue_* metrics.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The names, help texts and types are those of
// k8s.io/component-base/metrics/prometheus/workqueue, which this package replaces.
// Help texts begin with the stability there.
var (
	depth      = newDesc("depth", "Current depth of workqueue")
	adds       = newDesc("adds_total", "Total number of adds handled by workqueue")
	wait       = newDesc("queue_duration_seconds", "How long in seconds an item stays in workqueue before being requested.")
	work       = newDesc("work_duration_seconds", "How long in seconds processing an item from workqueue takes.")
	unfinished = newDesc("unfinished_work_seconds", "How many seconds of work has done that "+
		"is in progress and hasn't been observed by work_duration. Large "+
		"values indicate stuck threads. One can deduce the number of stuck "+
		"threads by observing the rate at which this increases.")
	longest = newDesc("longest_running_processor_seconds", "How many seconds has the longest running "+
		"processor for workqueue been running.")
	retries = newDesc("retries_total", "Total number of retries handled by workqueue")
)

func newDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("workqueue_"+name, "[BETA] "+help, []string{"name"}, nil)
}

// Collector exports the metrics of Queues.
type Collector struct{ Queues *observe.Queues }

var _ prometheus.Collector = Collector{}

// Describe implements prometheus.Collector.
func (Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{depth, adds, wait, work, unfinished, longest, retries} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c Collector) Collect(ch chan<- prometheus.Metric) {
	for _, s := range c.Queues.Series() {
		gauge := func(d *prometheus.Desc, v float64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, s.Name)
		}
		counter := func(d *prometheus.Desc, v int64) {
			ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), s.Name)
		}
		histogram := func(d *prometheus.Desc, b observe.Buckets) {
			counts := map[float64]uint64{}
			for i, bound := range observe.BucketBounds() {
				counts[bound] = b.Counts[i]
			}
			ch <- prometheus.MustNewConstHistogram(d, b.Count, b.Sum, counts, s.Name)
		}
		gauge(depth, float64(s.Depth))
		counter(adds, s.Adds)
		histogram(wait, s.Wait)
		histogram(work, s.Work)
		gauge(unfinished, s.Unfinished)
		gauge(longest, s.Longest)
		counter(retries, s.Retries)
	}
}
