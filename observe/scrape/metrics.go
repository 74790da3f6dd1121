package scrape

import (
	"math"
	"strings"
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
	exposed
}

// exposed says which numbers of a queue or of a controller a process exposes.
type exposed struct {
	known   numbers
	invalid numbers // of these, those with a value that they cannot have, such as NaN
}

// numbers is a set of numbers.
type numbers uint16

const (
	depthNumber numbers = 1 << iota
	addsNumber
	retriesNumber
	waitNumber
	workNumber
	activeNumber
	syncsNumber
	failuresNumber
	terminalNumber
)

func (e *exposed) add(n numbers, valid bool) {
	e.known |= n
	if !valid {
		e.invalid |= n
	}
}

// has reports whether all of some numbers are exposed, with valid values.
func (e exposed) has(all numbers) bool { return e.known&^e.invalid&all == all }

// count returns n as a count, or -1 if a number that it is made from is unknown.
func (e exposed) count(n float64, from numbers) int64 {
	if !e.has(from) {
		return -1
	}
	return toCount(n)
}

// controller has the values of the controller_runtime_* metrics of one controller.
type controller struct {
	workers, active, syncs, failures float64
	terminal                         float64 // of failures: the key is not added again
	exposed
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
	for _, q := range s.queues {
		q.judgeDepth()
	}
	return s
}

// judgeDepth judges the sum of the depths of all priorities. One of them may be negative: beyond 25 priorities
// controller-runtime takes all keys from a placeholder, also those that it has added to others. It exposes the depth
// of a priority from the first key on.
func (q *queue) judgeDepth() {
	switch {
	case q.depth < 0:
		q.depth, q.invalid = 0, q.invalid|depthNumber
	case q.known&depthNumber == 0 && q.has(addsNumber) && q.adds == 0:
		q.known |= depthNumber
	}
}

func (s *scrape) readProcess(name string, m *dto.Metric) {
	switch name {
	case "process_start_time_seconds":
		s.started = nonNegative(metricValue(m))
	case "process_cpu_seconds_total":
		s.cpu = nonNegative(metricValue(m))
	case "process_resident_memory_bytes":
		s.memory = nonNegative(metricValue(m))
	}
}

func (s *scrape) readQueue(name string, m *dto.Metric) {
	value, valid := validValue(m)
	sum := func(n numbers) *queue {
		k := key{labelValue(m, "controller"), labelValue(m, "name")}
		if s.queues[k] == nil {
			s.queues[k] = new(queue)
		}
		s.queues[k].add(n, valid)
		return s.queues[k]
	}
	switch name {
	case "workqueue_depth":
		value, valid = finiteValue(m)
		sum(depthNumber).depth += value
	case "workqueue_adds_total":
		sum(addsNumber).adds += value
	case "workqueue_retries_total":
		sum(retriesNumber).retries += value
	case "workqueue_queue_duration_seconds":
		q := sum(waitNumber)
		q.wait = q.wait.add(newHistogram(m.GetHistogram()))
	case "workqueue_work_duration_seconds":
		q := sum(workNumber)
		q.work = q.work.add(newHistogram(m.GetHistogram()))
	case "workqueue_unfinished_work_seconds":
		sum(0).unfinished += value
	case "workqueue_longest_running_processor_seconds":
		q := sum(0)
		q.longest = max(q.longest, value)
	}
}

func (s *scrape) readController(name string, m *dto.Metric) {
	value, valid := validValue(m)
	sum := func(n numbers) *controller {
		of := labelValue(m, "controller")
		if s.controllers[of] == nil {
			s.controllers[of] = new(controller)
		}
		s.controllers[of].add(n, valid)
		return s.controllers[of]
	}
	switch name {
	case "controller_runtime_max_concurrent_reconciles":
		sum(0).workers += value
	case "controller_runtime_active_workers":
		sum(activeNumber).active += value
	case "controller_runtime_reconcile_total":
		sum(syncsNumber).syncs += value
	case "controller_runtime_reconcile_errors_total":
		sum(failuresNumber).failures += value
	case "controller_runtime_terminal_reconcile_errors_total":
		sum(terminalNumber).terminal += value
	}
}

// maxName is how many bytes of a name are kept, which is as long as names of Kubernetes are. Those that
// are the same up to there are taken for one.
const maxName = 253

func labelValue(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return cutName(l.GetValue())
		}
	}
	return ""
}

func cutName(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.Clone(strings.ToValidUTF8(name[:maxName], "")) // the rest is not kept in memory
}

// validValue returns the value of a metric; 0 and false if it is negative or not finite, which none of
// the metrics read here can be, except parts of a depth.
func validValue(m *dto.Metric) (float64, bool) {
	v := metricValue(m)
	return nonNegative(v), v >= 0 && !math.IsInf(v, 1)
}

// finiteValue returns the value of a metric, which may be negative; 0 and false if it is not finite.
func finiteValue(m *dto.Metric) (float64, bool) {
	v := metricValue(m)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, false
	}
	return v, true
}

// metricValue returns the value of a counter, a gauge or an untyped metric, and the count of a
// histogram; NaN for all else.
func metricValue(m *dto.Metric) float64 {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue()
	case m.Gauge != nil:
		return m.Gauge.GetValue()
	case m.Histogram != nil:
		return sampleCount(m.Histogram)
	case m.Untyped != nil:
		return m.Untyped.GetValue()
	}
	return math.NaN()
}
