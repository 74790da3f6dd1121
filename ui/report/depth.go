package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	maxWaits  = 200000 // recorded waits, over all queues
	maxPoints = 1500   // points per curve
)

// depthTracker computes the depth of each queue over time.
//
// For a queue that is empty at the end, the depth is exact: it follows from the
// times when keys were added and taken. Otherwise, with too many keys, or if not each key
// that was taken has a recorded sync, it is sampled once per second.
type depthTracker struct {
	queues map[queueID]*depthHistory
	waits  int
}

type queueID struct{ controller, queue string }

type depthHistory struct {
	waits     []waitSpan // nil if too many
	partial   bool
	samples   []depthPoint
	remaining int64 // waiting keys in the last sample
	taken     int64 // keys that workers have taken until then
}

// waitSpan is the time that a key waited in a queue.
type waitSpan struct{ from, to time.Time }

// depthPoint is the depth of a queue from a time on.
type depthPoint struct {
	at    time.Time
	depth int64
}

func newDepthTracker() *depthTracker { return &depthTracker{queues: map[queueID]*depthHistory{}} }

func (d *depthTracker) queueOf(controller, queue string) *depthHistory {
	name := queueID{controller, queue}
	if d.queues[name] == nil {
		d.queues[name] = &depthHistory{}
	}
	return d.queues[name]
}

func (d *depthTracker) addSync(at time.Time, s *observe.Synced) {
	q := d.queueOf(s.Controller, s.Queue)
	if d.waits++; d.waits > maxWaits {
		q.waits, q.partial = nil, true
		return
	}
	taken := at.Add(-s.Took)
	q.waits = append(q.waits, waitSpan{taken.Add(-s.Waited), taken})
}

func (d *depthTracker) addChange(at time.Time, c *observe.QueueChanged) {
	q := d.queueOf(c.Controller, c.Queue)
	q.remaining = c.Depth
	q.taken = c.Gets
	reached := at // the maximum, since the last sample
	if n := len(q.samples); n > 0 {
		reached = q.samples[n-1].at.Add(at.Sub(q.samples[n-1].at) / 2)
	}
	q.samples = append(q.samples, depthPoint{reached, c.MaxDepth}, depthPoint{at, c.Depth})
}

// depthPoints returns the depth over time and whether it is exact.
func (q *depthHistory) depthPoints() (points []depthPoint, exact bool) {
	exact = !q.partial && q.remaining == 0 && len(q.waits) > 0 && int64(len(q.waits)) >= q.taken
	points = q.samples
	if exact {
		points = countWaits(q.waits)
	}
	return thinPoints(points), exact
}

// countWaits returns the number of simultaneous waits over time.
func countWaits(waits []waitSpan) []depthPoint {
	var turns []depthPoint // depth is the change
	for _, w := range waits {
		turns = append(turns, depthPoint{w.from, 1}, depthPoint{w.to, -1})
	}
	slices.SortFunc(turns, func(a, b depthPoint) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(b.depth, a.depth)) })
	var points []depthPoint
	var depth int64
	for _, t := range turns {
		depth += t.depth
		points = append(points, depthPoint{t.at, depth})
	}
	return points
}

// thinPoints reduces a curve to at most maxPoints: the maximum and the last point of
// each time slice.
func thinPoints(points []depthPoint) []depthPoint {
	if len(points) <= maxPoints {
		return points
	}
	first := points[0].at
	width := points[len(points)-1].at.Sub(first)/(maxPoints/2) + 1
	var thinned []depthPoint
	for i := 0; i < len(points); {
		slice := points[i].at.Sub(first) / width
		top, last := points[i], points[i]
		for ; i < len(points) && points[i].at.Sub(first)/width == slice; i++ {
			last = points[i]
			if last.depth > top.depth {
				top = last
			}
		}
		thinned = append(thinned, top)
		if last != top {
			thinned = append(thinned, last)
		}
	}
	return thinned
}

// maxDepth returns the maximum depth.
func maxDepth(points []depthPoint) int64 {
	var most int64
	for _, p := range points {
		most = max(most, p.depth)
	}
	return most
}
