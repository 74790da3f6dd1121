package nodes

import (
	"context"
	"runtime"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// cancelableClock is the clock of one kwok controller. It exists because the
// goroutine of kwok's delaying queue loops over After forever and nothing ends it:
// once the context has ended, After ends its caller. No other
// goroutine may call After (TestOnlyQueuesCallAfter).
type cancelableClock struct {
	clock.RealClock
	ctx   context.Context
	ended chan struct{} // closed when the queue's goroutine has ended

	mu    sync.Mutex
	timer *time.Timer // of the only caller of After; reused
}

func newCancelableClock(ctx context.Context) *cancelableClock {
	c := &cancelableClock{ctx: ctx, ended: make(chan struct{}), timer: time.NewTimer(0)}
	context.AfterFunc(ctx, func() { c.resetTimer(0) })
	return c
}

// After implements clock.Clock. The channel also receives when the context ends.
func (c *cancelableClock) After(d time.Duration) <-chan time.Time {
	if !c.resetTimer(d) {
		close(c.ended)
		runtime.Goexit()
	}
	return c.timer.C
}

// resetTimer reports whether the context is alive. Under the lock, a reset for the
// end of the context is never overtaken by one for a longer time.
func (c *cancelableClock) resetTimer(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	alive := c.ctx.Err() == nil
	if !alive {
		d = 0
	}
	c.timer.Reset(d)
	return alive
}
