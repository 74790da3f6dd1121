package main

import (
	"os"
	"os/signal"
	"syscall"
)

// signalChannel delivers the signals that this process gets while it runs a command.
type signalChannel struct{ ch chan os.Signal }

// listenForSignals delivers the signals that otherwise end this process.
func listenForSignals() signalChannel {
	s := signalChannel{make(chan os.Signal, 16)}
	signal.Notify(s.ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return s
}

// addCommandSignals adds the signals that only have a meaning for the command.
func (s signalChannel) addCommandSignals() { signal.Notify(s.ch, forwardedSignals...) }

// stop gives the signals their default effect again.
func (s signalChannel) stop() { signal.Stop(s.ch) }

// exitCode is the exit code for the signal that interrupted the start.
func (s signalChannel) exitCode() int { return signalExitCode(<-s.ch) }

func signalExitCode(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitFailure
}
