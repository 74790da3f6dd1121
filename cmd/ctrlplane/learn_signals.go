package main

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"

	"github.com/ctrlplane/ctrlplane/internal/endsignals"
)

// errInterrupted is the cause of the end of a lesson that a signal has interrupted.
var errInterrupted = errors.New("interrupted")

// withLessonSignals returns a context that the first signal cancels. A second interrupt
// ends this process without cleaning up; further signals of others, such as those of
// timeout(1), do not: the cleanup is bounded in time. An interrupt during a foreground
// command is meant for that command and ignored.
func withLessonSignals(parent context.Context, foreground *atomic.Int32) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	c := make(chan os.Signal, 4)
	stopNotifying := notifyEnd(c)
	released := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		var signals endsignals.Filter
		for {
			select {
			case sig := <-c:
				switch {
				case sig == os.Interrupt && foreground.Load() > 0:
				case !signals.Counts():
				case ctx.Err() == nil:
					cancel(errInterrupted)
				case sig == os.Interrupt:
					exit(signalExitCode(sig))
				}
			case <-released:
				return
			}
		}
	})
	return ctx, func() {
		if ctx.Err() == nil {
			stopNotifying()
		} // else further signals would end the process before it has said why it ends
		close(released)
		watching.Wait()
		cancel(nil)
	}
}
