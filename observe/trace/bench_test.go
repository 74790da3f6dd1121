package trace

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// Two controllers that write one object all the time have as many conflicts as writes. The time per
// record does not depend on their number.
func BenchmarkConflicts(b *testing.B) {
	for _, n := range []int{1000, 4000, 16000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			g := newGraph(fight(n), deployment("web"), Options{})
			for b.Loop() {
				g.noteConflicts(nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/record")
		})
	}
}

// fight returns the records of two controllers that write the same object, every other time with a conflict.
func fight(n int) (records []observe.Record) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for i := range n {
		c := &observe.Called{
			Controller: fmt.Sprintf("c%d", i%2), Verb: "update", Object: deployment("web"), Status: 200, Took: time.Millisecond,
			Began: at.Add(time.Duration(i) * time.Second), ResourceVersion: strconv.Itoa(i + 1), Wrote: deploymentWritten(strconv.Itoa(i+1), false),
		}
		if i%2 == 1 {
			c.Status, c.Conflict, c.Error, c.ResourceVersion, c.Wrote = 409, true, "modified", "", nil
		}
		records = append(records, observe.Record{Seq: uint64(i + 1), Time: c.Began.Add(c.Took), Event: c})
	}
	return records
}

// The records are not read once more for each queue and each key that waits.
func BenchmarkWorking(b *testing.B) {
	records := fight(100_000)
	now := observe.Snapshot{Time: records[len(records)-1].Time.Add(time.Minute)}
	for i := range 40 {
		q := observe.Queue{Controller: fmt.Sprintf("c%d", i), Name: "q", Depth: 10}
		for k := range 10 {
			q.Waiting = append(q.Waiting, deployment(fmt.Sprintf("other%d", k)))
		}
		now.Queues = append(now.Queues, q)
	}
	for b.Loop() {
		Working(Options{State: now}, records, deployment("web"), Style{})
	}
}

// The lines of a chain in which nothing repeats itself whole are compared once for each line that occurs often.
func BenchmarkRoundsOfAChain(b *testing.B) {
	for _, n := range []int{2000, 16000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			c := &Chain{}
			for i := range n / 2 {
				c.Links = append(c.Links, &Node{Kind: Call, Verb: "update", Controller: "a", Object: &observe.Object{Kind: "Pod", Name: "wh"}},
					&Node{Kind: Event, Controller: "b", Change: observe.Updated, Object: &observe.Object{Kind: "Pod", Name: fmt.Sprint("wh", i)}})
			}
			for b.Loop() {
				c.findRounds()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/line")
		})
	}
}
