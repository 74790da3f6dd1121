package scrape

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	rateWindow   = 5 * time.Second
	recentWindow = time.Minute
)

// keepRecent adds the latest scrape and drops old ones: all but one from before the
// last minute, or all if the process was restarted.
func keepRecent(scrapes []*scrape, latest *scrape) []*scrape {
	if n := len(scrapes); n > 0 && isRestart(scrapes[n-1], latest) {
		return []*scrape{latest}
	}
	scrapes = append(scrapes, latest)
	drop := 0
	for drop+2 < len(scrapes) && latest.time.Sub(scrapes[drop+1].time) >= recentWindow {
		drop++
	}
	return slices.Delete(scrapes, 0, drop)
}

// isRestart reports whether the process was restarted between two scrapes: its start
// time differs or a counter decreased.
func isRestart(earlier, later *scrape) bool {
	if math.Abs(later.started-earlier.started) > 2 || later.cpu < earlier.cpu {
		return true // the start time may move by a second when the clock is adjusted
	}
	for k, was := range earlier.queues {
		is, ok := later.queues[k]
		if ok && (is.adds < was.adds || is.retries < was.retries || is.wait.count < was.wait.count || is.work.count < was.work.count) {
			return true
		}
	}
	return false
}

// composeSnapshot returns the snapshot for the last of the scrapes.
func composeSnapshot(scrapes []*scrape) observe.Snapshot {
	latest := scrapes[len(scrapes)-1]
	rate, recent := scrapeBefore(scrapes, rateWindow), scrapeBefore(scrapes, recentWindow)
	s := observe.Snapshot{
		Time:        latest.time,
		Process:     composeProcess(rate, latest),
		Controllers: composeControllers(latest),
		Queues:      make([]observe.Queue, 0, len(latest.queues)),
	}
	for k, q := range latest.queues {
		result := composeQueue(k, q, latest.controllers[k.controller])
		fillChanges(&result, rate, recent, latest)
		if result.Depth >= 0 {
			result.History = queueHistory(scrapes, k)
		}
		s.Queues = append(s.Queues, result)
	}
	slices.SortFunc(s.Queues, func(a, b observe.Queue) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Name, b.Name))
	})
	unknown := false
	for _, q := range s.Queues {
		unknown = unknown || q.HasUnknownKeys()
		if name := cmp.Or(q.Controller, q.Name); q.Pending() > 0 && !slices.Contains(s.Process.Busy, name) {
			s.Process.Busy = append(s.Process.Busy, name)
		}
	}
	s.Process.Settled = len(s.Process.Busy) == 0 && !unknown
	return s
}

// scrapeBefore returns the newest scrape from before the window, or else the oldest;
// nil if there is only one scrape.
func scrapeBefore(scrapes []*scrape, window time.Duration) *scrape {
	last := len(scrapes) - 1
	if last == 0 {
		return nil
	}
	for i := last - 1; i > 0; i-- {
		if scrapes[last].time.Sub(scrapes[i].time) >= window {
			return scrapes[i]
		}
	}
	return scrapes[0]
}

func composeProcess(rate, latest *scrape) observe.Process {
	p := observe.Process{Requests: -1, RequestRate: -1, MemoryBytes: toCount(latest.memory), CPU: toDuration(latest.cpu)}
	if latest.started > 0 {
		p.Started = time.Unix(0, 0).Add(toDuration(latest.started))
	}
	if rate != nil {
		p.CPUPercent = 100 * perSecond(latest.cpu-rate.cpu, latest.time.Sub(rate.time))
	}
	return p
}

func composeControllers(latest *scrape) []observe.Controller {
	var result []observe.Controller
	for name, c := range latest.controllers {
		result = append(result, observe.Controller{
			Name:     name,
			State:    observe.StateRunning, // a controller has no metrics before it runs
			Syncs:    c.count(c.syncs, syncsNumber),
			Failures: c.count(c.failures, failuresNumber),
			// Metrics do not tell what a controller receives and calls.
			Delivered: -1, Reads: -1, Changes: -1, Errors: -1, Conflicts: -1,
		})
	}
	slices.SortFunc(result, func(a, b observe.Controller) int { return cmp.Compare(a.Name, b.Name) })
	return result
}

// composeQueue returns a queue's numbers from one scrape. c is nil if the process does
// not use controller-runtime.
func composeQueue(k key, q *queue, c *controller) observe.Queue {
	result := observe.Queue{
		Controller: k.controller,
		Name:       k.name,
		Depth:      q.count(q.depth, depthNumber),
		InFlight:   q.count(max(0, q.wait.count-q.work.count), waitNumber|workNumber),
		Adds:       q.count(q.adds, addsNumber),
		Gets:       q.count(q.wait.count, waitNumber),
		Done:       q.count(q.work.count, workNumber),
		Retries:    q.count(q.retries, retriesNumber),
		AddRate:    -1,
		DoneRate:   -1,
		Delayed:    -1,
		Wait:       observe.Durations{Total: q.wait.quantiles()},
		Work:       observe.Durations{Total: q.work.quantiles()},
		Unfinished: toDuration(q.unfinished),
		Longest:    toDuration(q.longest),

		ErrorRetries: -1, // the metric counts planned requeues, too
	}
	result.MaxDepth = result.Depth
	if c != nil && c.workers > 0 {
		result.Workers = int(toCount(c.workers))
		result.InFlight = c.count(c.active, activeNumber)
		result.ErrorRetries = c.count(c.failures-c.terminal, failuresNumber|c.known&terminalNumber) // older versions lack the latter
	}
	return result
}

// fillChanges fills in the rates and recent durations of a queue from earlier
// scrapes. A queue that they lack started at zero.
func fillChanges(q *observe.Queue, rate, recent, latest *scrape) {
	if rate == nil {
		return
	}
	k := key{q.Controller, q.Name}
	is, was, took := latest.queues[k], rate.queueOrZero(k), latest.time.Sub(rate.time)
	if is.has(addsNumber) && was.invalid&addsNumber == 0 {
		q.AddRate = perSecond(is.adds-was.adds, took)
	}
	if is.has(workNumber) && was.invalid&workNumber == 0 {
		q.DoneRate = perSecond(is.work.count-was.work.count, took)
	}
	was = recent.queueOrZero(k)
	q.Wait.Recent = is.wait.subtract(was.wait).quantiles()
	q.Work.Recent = is.work.subtract(was.work).quantiles()
}

// queueOrZero returns a queue of the scrape, or a zero queue if there is none.
func (s *scrape) queueOrZero(k key) *queue {
	if q, ok := s.queues[k]; ok {
		return q
	}
	return new(queue)
}

func perSecond(n float64, d time.Duration) float64 {
	if d <= 0 {
		return 0
	}
	return max(0, n/d.Seconds())
}
