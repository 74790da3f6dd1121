package scrape

import (
	"math"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const maxHistory = 60 // seconds

// history is a queue's samples of the seconds that the scrapes cover whole. A
// scrape seldom falls on the end of a second: what the counters were then is
// interpolated between the scrapes around it.
func history(scrapes []*scrape, k key) []observe.Sample {
	first := scrapes[0].at.Truncate(time.Second)
	if first.Before(scrapes[0].at) {
		first = first.Add(time.Second)
	}
	last := scrapes[len(scrapes)-1].at.Truncate(time.Second)
	if oldest := last.Add(-maxHistory * time.Second); first.Before(oldest) {
		first = oldest
	}
	if !first.Before(last) {
		return nil
	}
	samples := make([]observe.Sample, 0, last.Sub(first)/time.Second)
	next := 1 // the first scrape that is not before the end of the second
	adds, done, depth := 0.0, 0.0, 0.0
	for end := first; !end.After(last); end = end.Add(time.Second) {
		highest := depth
		for next < len(scrapes)-1 && scrapes[next].at.Before(end) {
			highest = max(highest, scrapes[next].queue(k).depth)
			next++
		}
		a, b := scrapes[next-1].queue(k), scrapes[next].queue(k)
		part := end.Sub(scrapes[next-1].at).Seconds() / scrapes[next].at.Sub(scrapes[next-1].at).Seconds()
		between := func(from, to float64) float64 { return math.Round(from + (to-from)*part) }
		addsNow, doneNow := between(a.adds, b.adds), between(a.work.count, b.work.count)
		depth = between(a.depth, b.depth)
		if end.After(first) {
			samples = append(samples, observe.Sample{
				Depth: count(max(highest, depth)),
				Adds:  count(addsNow - adds),
				Done:  count(doneNow - done),
			})
		}
		adds, done = addsNow, doneNow
	}
	return samples
}
