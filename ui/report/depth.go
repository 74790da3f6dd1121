package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const (
	maxWaits  = 200000 // waits that are remembered, of all queues
	maxPoints = 1500   // of a queue's curve
)

// depthTracker are how many keys waited in each queue over time.
//
// They are exact, from when each key came and was taken, for a queue that is
// empty in the end; else, or if there have been too many keys, they are what
// was counted once a second.
type depthTracker struct {
	queues map[queueID]*depthHistory
	waits  int
}

type queueID struct{ controller, queue string }

type depthHistory struct {
	waits     []waitSpan // nil if there were too many
	partial   bool
	samples   []depthPoint
	remaining int64 // keys that wait, by the last sample
	max       int64
}

// waitSpan is the time of a key in a queue.
type waitSpan struct{ from, to time.Time }

// depthPoint says how deep a queue is from a time on.
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
	q.remaining, q.max = c.Depth, max(q.max, c.MaxDepth)
	if n := len(q.samples); n > 0 { // the highest was some time before
		q.samples = append(q.samples, depthPoint{q.samples[n-1].at.Add(at.Sub(q.samples[n-1].at) / 2), c.MaxDepth})
	}
	q.samples = append(q.samples, depthPoint{at, c.Depth})
}

// depthPoints is the depth over time, and whether it is exact.
func (q *depthHistory) depthPoints() (points []depthPoint, exact bool) {
	exact = !q.partial && q.remaining == 0 && len(q.waits) > 0
	points = q.samples
	if exact {
		points = countWaits(q.waits)
	}
	return thinPoints(points), exact
}

// countWaits counts the waits that are under way at each time.
func countWaits(waits []waitSpan) []depthPoint {
	var turns []depthPoint // with the change as depth
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

// thinPoints makes a curve of maxPoints at most: the highest and the last of each
// slice of time.
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

// maxDepth is the most keys that waited at once.
func maxDepth(points []depthPoint) int64 {
	var most int64
	for _, p := range points {
		most = max(most, p.depth)
	}
	return most
}
