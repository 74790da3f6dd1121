package main

import (
	"context"
	"errors"
	"os"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/endsignals"
	"github.com/ctrlplane/ctrlplane/ui/learn"
)

// errInterrupted is the cause of the end of a lesson that a signal has interrupted.
var errInterrupted = errors.New("interrupted")

// withLessonSignals returns a context that the first signal cancels. A second interrupt
// ends this process without cleaning up; further signals of others, such as those of
// timeout(1), do not: the cleanup is bounded in time. An interrupt during a command of the
// reader is meant for that command and ignored, one while the lesson waits ends only the wait.
func withLessonSignals(parent context.Context, interrupts *learn.Interrupts) (context.Context, func()) {
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
				case sig == os.Interrupt && interrupts.ForCommand():
				case !signals.Counts():
				case sig == os.Interrupt && ctx.Err() == nil && interrupts.EndWait():
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
