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

// depths are how many keys waited in each queue over time.
//
// They are exact, from when each key came and was taken, for a queue that is
// empty in the end; else, or if there have been too many keys, they are what
// was counted once a second.
type depths struct {
	queues map[queueName]*queueDepth
	waits  int
}

type queueName struct{ controller, queue string }

type queueDepth struct {
	waits   []wait // nil if there were too many
	partial bool
	samples []point
	left    int64 // keys that wait, by the last sample
	max     int64
}

// wait is the time of a key in a queue.
type wait struct{ from, to time.Time }

// point says how deep a queue is from a time on.
type point struct {
	at    time.Time
	depth int64
}

func newDepths() *depths { return &depths{queues: map[queueName]*queueDepth{}} }

func (d *depths) of(controller, queue string) *queueDepth {
	name := queueName{controller, queue}
	if d.queues[name] == nil {
		d.queues[name] = &queueDepth{}
	}
	return d.queues[name]
}

func (d *depths) synced(at time.Time, s *observe.Synced) {
	q := d.of(s.Controller, s.Queue)
	if d.waits++; d.waits > maxWaits {
		q.waits, q.partial = nil, true
		return
	}
	taken := at.Add(-s.Took)
	q.waits = append(q.waits, wait{taken.Add(-s.Waited), taken})
}

func (d *depths) changed(at time.Time, c *observe.QueueChanged) {
	q := d.of(c.Controller, c.Queue)
	q.left, q.max = c.Depth, max(q.max, c.MaxDepth)
	if n := len(q.samples); n > 0 { // the highest was some time before
		q.samples = append(q.samples, point{q.samples[n-1].at.Add(at.Sub(q.samples[n-1].at) / 2), c.MaxDepth})
	}
	q.samples = append(q.samples, point{at, c.Depth})
}

// curve is the depth over time, and whether it is exact.
func (q *queueDepth) curve() (points []point, exact bool) {
	exact = !q.partial && q.left == 0 && len(q.waits) > 0
	points = q.samples
	if exact {
		points = steps(q.waits)
	}
	return thin(points), exact
}

// steps counts the waits that are under way at each time.
func steps(waits []wait) []point {
	var turns []point // with the change as depth
	for _, w := range waits {
		turns = append(turns, point{w.from, 1}, point{w.to, -1})
	}
	slices.SortFunc(turns, func(a, b point) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(b.depth, a.depth)) })
	var points []point
	var depth int64
	for _, t := range turns {
		depth += t.depth
		points = append(points, point{t.at, depth})
	}
	return points
}

// thin makes a curve of maxPoints at most: the highest and the last of each
// slice of time.
func thin(points []point) []point {
	if len(points) <= maxPoints {
		return points
	}
	first := points[0].at
	width := points[len(points)-1].at.Sub(first)/(maxPoints/2) + 1
	var thinned []point
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

// highest is the most keys that waited at once.
func highest(points []point) int64 {
	var most int64
	for _, p := range points {
		most = max(most, p.depth)
	}
	return most
}
