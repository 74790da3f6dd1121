package main

import (
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
