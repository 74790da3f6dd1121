package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
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

// earlySignalDelay is how long a signal that has arrived may take to get to the channel.
const earlySignalDelay = time.Second

// exitCode is the exit code for the signal that interrupted the start. A signal that
// arrived before the channel existed counts as an interrupt.
func (s signalChannel) exitCode() int {
	select {
	case sig := <-s.ch:
		return signalExitCode(sig)
	case <-time.After(earlySignalDelay):
		return signalExitCode(os.Interrupt)
	}
}

func signalExitCode(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitFailure
}
