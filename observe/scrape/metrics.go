package scrape

import (
	"time"

	dto "github.com/prometheus/client_model/go"
)

// key identifies a queue. Only controller-runtime sets the controller.
type key struct{ controller, name string }

// queue has the values of the workqueue_* metrics of one queue.
type queue struct {
	depth, adds, retries float64
	wait, work           histogram
	unfinished, longest  float64
	known                numbers // that the process exposes
}

// numbers is a set of the numbers of a queue.
type numbers uint8

const (
	depthNumber numbers = 1 << iota
	addsNumber
	retriesNumber
	waitNumber
	workNumber
)

// controller has the values of the controller_runtime_* metrics of one controller.
type controller struct {
	workers, active, syncs, failures float64
	terminal                         float64 // of failures: the key is not added again
}

// scrape is the result of one scrape. It is immutable.
type scrape struct {
	time        time.Time
	queues      map[key]*queue
	controllers map[string]*controller
	started     float64 // seconds since 1970; 0 if unknown
	cpu         float64 // seconds
	memory      float64 // bytes
}

// readScrape extracts the known metrics. Series that differ only in other labels,
// such as the priority of a key, are added up.
func readScrape(families []*dto.MetricFamily) *scrape {
	s := &scrape{queues: map[key]*queue{}, controllers: map[string]*controller{}}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			s.readProcess(f.GetName(), m)
			s.readQueue(f.GetName(), m)
			s.readController(f.GetName(), m)
		}
	}
	return s
}

func (s *scrape) readProcess(name string, m *dto.Metric) {
	switch name {
	case "process_start_time_seconds":
		s.started = metricValue(m)
	case "process_cpu_seconds_total":
		s.cpu = metricValue(m)
	case "process_resident_memory_bytes":
		s.memory = metricValue(m)
	}
}

func (s *scrape) readQueue(name string, m *dto.Metric) {
	var q queue
	switch name {
	case "workqueue_depth":
		q.depth, q.known = metricValue(m), depthNumber
	case "workqueue_adds_total":
		q.adds, q.known = metricValue(m), addsNumber
	case "workqueue_retries_total":
		q.retries, q.known = metricValue(m), retriesNumber
	case "workqueue_queue_duration_seconds":
		q.wait, q.known = newHistogram(m.GetHistogram()), waitNumber
	case "workqueue_work_duration_seconds":
		q.work, q.known = newHistogram(m.GetHistogram()), workNumber
	case "workqueue_unfinished_work_seconds":
		q.unfinished = metricValue(m)
	case "workqueue_longest_running_processor_seconds":
		q.longest = metricValue(m)
	default:
		return
	}
	k := key{labelValue(m, "controller"), labelValue(m, "name")}
	sum, ok := s.queues[k]
	if !ok {
		sum = new(queue)
		s.queues[k] = sum
	}
	sum.known |= q.known
	sum.depth += q.depth
	sum.adds += q.adds
	sum.retries += q.retries
	sum.wait = sum.wait.add(q.wait)
	sum.work = sum.work.add(q.work)
	sum.unfinished += q.unfinished
	sum.longest = max(sum.longest, q.longest)
}

func (s *scrape) readController(name string, m *dto.Metric) {
	var c controller
	switch name {
	case "controller_runtime_max_concurrent_reconciles":
		c.workers = metricValue(m)
	case "controller_runtime_active_workers":
		c.active = metricValue(m)
	case "controller_runtime_reconcile_total":
		c.syncs = metricValue(m)
	case "controller_runtime_reconcile_errors_total":
		c.failures = metricValue(m)
	case "controller_runtime_terminal_reconcile_errors_total":
		c.terminal = metricValue(m)
	default:
		return
	}
	of := labelValue(m, "controller")
	sum, ok := s.controllers[of]
	if !ok {
		sum = new(controller)
		s.controllers[of] = sum
	}
	sum.workers += c.workers
	sum.active += c.active
	sum.syncs += c.syncs
	sum.failures += c.failures
	sum.terminal += c.terminal
}

func labelValue(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// metricValue returns the value of a counter, a gauge or an untyped metric; 0 if it
// is negative or not finite, which none of the metrics read here can be.
func metricValue(m *dto.Metric) float64 {
	v := m.GetUntyped().GetValue()
	switch {
	case m.Counter != nil:
		v = m.Counter.GetValue()
	case m.Gauge != nil:
		v = m.Gauge.GetValue()
	}
	return nonNegative(v)
}
