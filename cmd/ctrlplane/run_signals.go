package main

import (
	"os"
	"os/signal"
	"syscall"
)

// signalChannel are those that this process gets while it runs a command.
type signalChannel struct{ ch chan os.Signal }

// listenForSignals takes the signals that end this process.
func listenForSignals() signalChannel {
	s := signalChannel{make(chan os.Signal, 16)}
	signal.Notify(s.ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return s
}

// addCommandSignals takes those, too, that mean something to the command only.
func (s signalChannel) addCommandSignals() { signal.Notify(s.ch, forwardedSignals...) }

// stop lets signals do again what they do by default.
func (s signalChannel) stop() { signal.Stop(s.ch) }

// exitCode is the exit code for the signal that has ended the start.
func (s signalChannel) exitCode() int { return signalExitCode(<-s.ch) }

func signalExitCode(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitFailure
}
