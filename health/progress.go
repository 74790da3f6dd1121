package health

import "time"

// LimitProgress returns a function for [Options].Progress that passes on what another one should
// say: each status of an object, and its message at most once in an interval. A controller may
// write a status many times in a second.
func LimitProgress(interval time.Duration, progress func(State)) func(State) {
	type said struct {
		status Status
		at     time.Time
	}
	last := map[Ref]said{}
	return func(s State) {
		now := time.Now()
		if before, ok := last[s.Ref]; ok && before.status == s.Status && now.Sub(before.at) < interval {
			return
		}
		last[s.Ref] = said{s.Status, now}
		progress(s)
	}
}
