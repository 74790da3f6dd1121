package report

import (
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// The curve of a queue is exact only if each of its keys has a record: the idle syncs of some queues have none.
func TestCurvesOfSyncsWithoutRecordAreSampled(t *testing.T) {
	const ms = time.Millisecond
	at := func(n int) time.Time { return runStart.Add(time.Duration(n) * ms) }
	sync := &observe.Synced{Controller: "gc", Queue: "graph_changes", Waited: ms, Took: ms}
	sample := func(depth, most, gets int64) *observe.QueueChanged {
		return &observe.QueueChanged{Controller: "gc", Queue: "graph_changes", Depth: depth, MaxDepth: most, Gets: gets}
	}
	for name, test := range map[string]struct {
		samples []*observe.QueueChanged
		syncs   int
		exact   bool
		max     int64
	}{
		"most are not recorded":                                   {[]*observe.QueueChanged{sample(300, 800, 900), sample(0, 300, 1200)}, 1, false, 800},
		"all are recorded":                                        {[]*observe.QueueChanged{sample(1, 1, 1), sample(0, 1, 2)}, 2, true, 1},
		"recorded of two runs of the controller":                  {[]*observe.QueueChanged{sample(0, 1, 2), sample(0, 1, 3)}, 3, true, 1},
		"not recorded of the first of two runs of the controller": {[]*observe.QueueChanged{sample(0, 7, 9), sample(0, 7, 10)}, 3, false, 7},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDepthTracker()
			for i, s := range test.samples {
				d.addChange(at(1000*(i+1)), s)
			}
			for i := range test.syncs {
				d.addSync(at(100+10*i), sync)
			}
			if c := d.queueCurves(runStart); len(c) != 1 || c[0].Exact != test.exact || c[0].Max != test.max {
				t.Errorf("got %+v", c)
			}
		})
	}
}
