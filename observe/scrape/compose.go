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

// keep adds the latest scrape, and drops those that are too old to matter: all
// but one from before the last minute, or all if the process was restarted.
func keep(scrapes []*scrape, latest *scrape) []*scrape {
	if n := len(scrapes); n > 0 && restarted(scrapes[n-1], latest) {
		return []*scrape{latest}
	}
	scrapes = append(scrapes, latest)
	drop := 0
	for drop+2 < len(scrapes) && latest.at.Sub(scrapes[drop+1].at) >= recentWindow {
		drop++
	}
	return slices.Delete(scrapes, 0, drop)
}

// restarted says whether the later scrape is not of the same process: its start
// is another one, or a counter went down.
func restarted(earlier, later *scrape) bool {
	if math.Abs(later.started-earlier.started) > 2 || later.cpu < earlier.cpu {
		return true // a start may move by a second when the clock is set
	}
	for k, was := range earlier.queues {
		is, ok := later.queues[k]
		if ok && (is.adds < was.adds || is.retries < was.retries || is.wait.count < was.wait.count || is.work.count < was.work.count) {
			return true
		}
	}
	return false
}

// compose says what the scrapes, of which the last is now, tell together.
func compose(scrapes []*scrape) observe.Snapshot {
	latest := scrapes[len(scrapes)-1]
	rate, recent := since(scrapes, rateWindow), since(scrapes, recentWindow)
	s := observe.Snapshot{
		Time:        latest.at,
		Process:     process(rate, latest),
		Controllers: controllers(latest),
		Queues:      make([]observe.Queue, 0, len(latest.queues)),
	}
	for k, q := range latest.queues {
		result := now(k, q, latest.controllers[k.controller])
		compare(&result, rate, recent, latest)
		result.History = history(scrapes, k)
		s.Queues = append(s.Queues, result)
	}
	slices.SortFunc(s.Queues, func(a, b observe.Queue) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Name, b.Name))
	})
	for _, q := range s.Queues {
		if name := cmp.Or(q.Controller, q.Name); q.Depth+q.InFlight > 0 && !slices.Contains(s.Process.Busy, name) {
			s.Process.Busy = append(s.Process.Busy, name)
		}
	}
	s.Process.Settled = len(s.Process.Busy) == 0
	return s
}

// since returns the newest scrape from before the window, or the oldest; nil if
// there is none but the latest.
func since(scrapes []*scrape, window time.Duration) *scrape {
	last := len(scrapes) - 1
	if last == 0 {
		return nil
	}
	for i := last - 1; i > 0; i-- {
		if scrapes[last].at.Sub(scrapes[i].at) >= window {
			return scrapes[i]
		}
	}
	return scrapes[0]
}

func process(rate, latest *scrape) observe.Process {
	p := observe.Process{MemoryBytes: count(latest.memory), CPU: seconds(latest.cpu)}
	if latest.started > 0 {
		p.Started = time.Unix(0, 0).Add(seconds(latest.started))
	}
	if rate != nil {
		p.CPUPercent = 100 * perSecond(latest.cpu-rate.cpu, latest.at.Sub(rate.at))
	}
	return p
}

func controllers(latest *scrape) []observe.Controller {
	var result []observe.Controller
	for name, c := range latest.controllers {
		result = append(result, observe.Controller{
			Name:     name,
			State:    "running", // there are no metrics of it before
			Syncs:    count(c.syncs),
			Failures: count(c.failures),
		})
	}
	slices.SortFunc(result, func(a, b observe.Controller) int { return cmp.Compare(a.Name, b.Name) })
	return result
}

// now is what one scrape tells of a queue; c is nil without controller-runtime.
func now(k key, q *queue, c *controller) observe.Queue {
	result := observe.Queue{
		Controller: k.controller,
		Name:       k.name,
		Depth:      count(q.depth),
		InFlight:   count(max(0, q.wait.count-q.work.count)),
		Adds:       count(q.adds),
		Gets:       count(q.wait.count),
		Done:       count(q.work.count),
		Retries:    count(q.retries),
		Delayed:    -1,
		Wait:       observe.Durations{Total: q.wait.quantiles()},
		Work:       observe.Durations{Total: q.work.quantiles()},
		Unfinished: seconds(q.unfinished),
		Longest:    seconds(q.longest),
	}
	if c != nil && c.workers > 0 {
		result.Workers = int(count(c.workers))
		result.InFlight = count(c.active)
	}
	return result
}

// compare adds what earlier scrapes, if there are any, tell of a queue. One
// that they do not have began with zero.
func compare(q *observe.Queue, rate, recent, latest *scrape) {
	if rate == nil {
		return
	}
	k := key{q.Controller, q.Name}
	is, was, took := latest.queues[k], rate.queue(k), latest.at.Sub(rate.at)
	q.AddRate = perSecond(is.adds-was.adds, took)
	q.DoneRate = perSecond(is.work.count-was.work.count, took)
	was = recent.queue(k)
	q.Wait.Recent = is.wait.minus(was.wait).quantiles()
	q.Work.Recent = is.work.minus(was.work).quantiles()
}

// queue returns a queue of the scrape; all zero if it has none of this key.
func (s *scrape) queue(k key) *queue {
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
