package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// hangupIgnored is whether the process was started with SIGHUP ignored, as nohup does, so that it
// survives the end of its terminal. To listen for the signal would undo that, also for the
// programs that this process starts. It is read before anything listens.
var hangupIgnored = signal.Ignored(syscall.SIGHUP)

// endSignals are the signals that end this process.
func endSignals() []os.Signal {
	if hangupIgnored {
		return []os.Signal{os.Interrupt, syscall.SIGTERM}
	}
	return []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
}

// notifyEnd delivers the signals that end this process, until stop has returned.
func notifyEnd(c chan<- os.Signal) (stop func()) {
	signal.Notify(c, endSignals()...)
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

// untilEndSignal returns a context that ends with the first of these signals.
func untilEndSignal() (ctx context.Context, stop func()) {
	requested, cancel := context.WithCancel(context.Background())
	ctx, stopSignals := signal.NotifyContext(requested, endSignals()...)
	ignoreRequest := onStopRequest(cancel)
	return ctx, func() {
		stopSignals()
		ignoreRequest()
		cancel()
	}
}
