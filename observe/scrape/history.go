package scrape

import (
	"math"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

const maxHistory = 60 // seconds

// queueHistory returns a queue's samples for the seconds that the scrapes cover
// completely. Scrapes rarely coincide with the end of a second, so the counters at
// that time are interpolated.
func queueHistory(scrapes []*scrape, k key) []observe.Sample {
	first := scrapes[0].time.Truncate(time.Second)
	if first.Before(scrapes[0].time) {
		first = first.Add(time.Second)
	}
	last := scrapes[len(scrapes)-1].time.Truncate(time.Second)
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
		for next < len(scrapes)-1 && scrapes[next].time.Before(end) {
			highest = max(highest, scrapes[next].queueOrZero(k).depth)
			next++
		}
		a, b := scrapes[next-1].queueOrZero(k), scrapes[next].queueOrZero(k)
		part := end.Sub(scrapes[next-1].time).Seconds() / scrapes[next].time.Sub(scrapes[next-1].time).Seconds()
		between := func(from, to float64) float64 { return math.Round(from + (to-from)*part) }
		addsNow, doneNow := between(a.adds, b.adds), between(a.work.count, b.work.count)
		depth = between(a.depth, b.depth)
		if end.After(first) {
			samples = append(samples, observe.Sample{
				MaxDepth: toCount(max(highest, depth)),
				Adds:     toCount(addsNow - adds),
				Done:     toCount(doneNow - done),
			})
		}
		adds, done = addsNow, doneNow
	}
	return samples
}
