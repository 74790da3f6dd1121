package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// errInterrupted is why a lesson ends that a signal has ended.
var errInterrupted = errors.New("interrupted")

// withLessonSignals is a context that ends on the first signal; the second ends this
// process. An interrupt while busy is meant for the command that has the terminal.
func withLessonSignals(parent context.Context, busy *atomic.Int32) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(parent))
	c := make(chan os.Signal, 4)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case sig := <-c:
				switch {
				case sig == os.Interrupt && busy.Load() > 0:
				case ctx.Err() != nil:
					os.Exit(signalExitCode(sig))
				default:
					cancel(errInterrupted)
				}
			case <-done:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(c)
		close(done)
		cancel(nil)
	}
}
