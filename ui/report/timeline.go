package report

import (
	"cmp"
	"slices"
	"time"
)

// timeline is the data that the page draws. Times are in milliseconds since the
// beginning of the run.
type timeline struct {
	End    float64      `json:"end"`
	Stages []stageRow   `json:"stages"`
	Lanes  []string     `json:"lanes"` // controllers
	Marks  []markRow    `json:"marks"` // in recording order
	Queues []queueCurve `json:"queues"`
}

// stageRow contains name, start, duration and error.
type stageRow [4]any

// queueCurve is the depth of a queue over time.
type queueCurve struct {
	Controller string       `json:"controller"`
	Queue      string       `json:"queue"`
	Max        int64        `json:"max"`
	Exact      bool         `json:"exact"` // otherwise sampled once per second
	Points     [][2]float64 `json:"points"`
}

func newTimeline(d *digest, o *Outcome, output []mark) timeline {
	d.marks.dropLeastImportant()
	zero := o.Began
	t := timeline{End: toMillis(o.Took), Stages: []stageRow{}, Marks: make([]markRow, 0, len(d.marks.list)+len(output)), Lanes: d.marks.laneNames()}
	if len(output) > 0 {
		t.Lanes = slices.Insert(t.Lanes, 0, outputLane)
	}
	lane := map[string]int{}
	for i, name := range t.Lanes {
		lane[name] = i
	}
	for _, m := range slices.Concat(output, d.marks.list) {
		t.Marks = append(t.Marks, m.pageRow(lane[m.controller], zero))
		t.End = max(t.End, toMillis(m.at.Add(m.took).Sub(zero)))
	}
	stages := slices.Concat(d.stages, o.Stages)
	slices.SortStableFunc(stages, func(a, b Stage) int { return a.At.Compare(b.At) })
	for _, s := range stages {
		t.Stages = append(t.Stages, stageRow{s.Name, toMillis(s.At.Sub(zero)), toMillis(s.Took), s.Error})
	}
	t.Queues = d.depths.queueCurves(zero)
	return t
}

// queueCurves returns the curves of all queues that had a waiting key, deepest
// first.
func (d *depthTracker) queueCurves(zero time.Time) []queueCurve {
	curves := []queueCurve{}
	for name, q := range d.queues {
		points, exact := q.depthPoints()
		c := queueCurve{Controller: name.controller, Queue: name.queue, Exact: exact, Max: maxDepth(points)}
		if c.Max == 0 {
			continue
		}
		for _, p := range points {
			c.Points = append(c.Points, [2]float64{toMillis(p.at.Sub(zero)), float64(p.depth)})
		}
		curves = append(curves, c)
	}
	slices.SortFunc(curves, func(a, b queueCurve) int {
		return cmp.Or(cmp.Compare(b.Max, a.Max), cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Queue, b.Queue))
	})
	return curves
}
