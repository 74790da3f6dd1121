package nodes

import (
	"context"
	"runtime"
	"time"

	"k8s.io/utils/clock"
)

// cancelableClock is a clock that ends who waits for it once ctx has ended: the goroutine of
// each of kwok's queues, which nothing else ends, and nobody but they uses After.
// They do so every ten seconds at least.
type cancelableClock struct {
	clock.RealClock
	ctx context.Context
}

func (m cancelableClock) After(d time.Duration) <-chan time.Time {
	if m.ctx.Err() != nil {
		runtime.Goexit()
	}
	return m.RealClock.After(d)
}
