package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/ctrlplane/ctrlplane/internal/endsignals"
)

// notifyEnd delivers the signals that end this process, until stop has returned.
func notifyEnd(c chan<- os.Signal) (stop func()) {
	signal.Notify(c, endsignals.List()...)
	ignoreRequest := onStopRequest(func() {
		select {
		case c <- syscall.SIGTERM:
		default: // as package signal does
		}
	})
	return func() {
		signal.Stop(c)
		ignoreRequest()
	}
}

// untilEndSignal returns a context that ends with the first of these signals. release gives them their default effect
// again.
func untilEndSignal() (ctx context.Context, release func()) {
	requested, cancel := context.WithCancel(context.Background())
	ctx, stopSignals := signal.NotifyContext(requested, endsignals.List()...)
	ignoreRequest := onStopRequest(cancel)
	return ctx, func() {
		stopSignals()
		ignoreRequest()
		cancel()
	}
}
