package main

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalChannel delivers the signals that this process gets while it runs a command.
type signalChannel struct {
	ch         chan os.Signal // those that otherwise end this process
	forCommand chan os.Signal // those that only have a meaning for the command
}

// listenForSignals delivers the signals that otherwise end this process.
func listenForSignals() signalChannel {
	s := signalChannel{make(chan os.Signal, 16), make(chan os.Signal, 16)}
	signal.Notify(s.ch, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return s
}

// addCommandSignals delivers the signals for the command, too. Once it has exited they have
// no effect.
func (s signalChannel) addCommandSignals() {
	if len(forwardedSignals) > 0 { // none would mean all
		signal.Notify(s.forCommand, forwardedSignals...)
	}
}

// surviveClosedOutput makes a write to a closed stdout or stderr fail instead of ending the
// process, for a process that has something to clean up. Programs that it starts do not inherit
// this, as they would a signal that is ignored.
func surviveClosedOutput() (stop func()) {
	closed := make(chan os.Signal, 1)
	if !signal.Ignored(syscall.SIGPIPE) { // programs inherit that
		signal.Notify(closed, syscall.SIGPIPE)
	}
	return func() { signal.Stop(closed) }
}

// stop gives the signals their default effect again.
func (s signalChannel) stop() {
	signal.Stop(s.ch)
	signal.Stop(s.forCommand)
}

// earlySignalDelay is how long a signal that has arrived may take to get to the channel.
const earlySignalDelay = time.Second

// interruption is the signal that interrupted the start. One that arrived before the channel
// existed counts as an interrupt.
func (s signalChannel) interruption() os.Signal {
	select {
	case sig := <-s.ch:
		return sig
	case <-time.After(earlySignalDelay):
		return os.Interrupt
	}
}

func signalExitCode(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitFailure
}
