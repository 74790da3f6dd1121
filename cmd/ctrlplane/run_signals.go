package main

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/endsignals"
)

// signalChannel delivers the signals that this process gets while it runs a command.
type signalChannel struct {
	ch         chan os.Signal // those that otherwise end this process
	forCommand chan os.Signal // those that only have a meaning for the command
	stopOwn    func()         // for ch
}

// listenForSignals delivers the signals that otherwise end this process.
func listenForSignals() signalChannel {
	received := make(chan os.Signal, 16)
	stopNotifying := notifyEnd(received)
	s := signalChannel{make(chan os.Signal, cap(received)), make(chan os.Signal, 16), sync.OnceFunc(func() {
		stopNotifying()
		close(received)
	})}
	go s.deliver(received)
	return s
}

// deliver passes on what was received, but SIGHUP only once: when a terminal is closed, its shell and make send it
// as well as the kernel. Another signal that comes too soon to be meant as a second one is for the command alone.
func (s signalChannel) deliver(received <-chan os.Signal) {
	var filter endsignals.Filter
	var last os.Signal
	hungUp := false
	for sig := range received {
		if sig == syscall.SIGHUP {
			if hungUp {
				continue
			}
			hungUp = true
		}
		to := s.ch
		switch {
		case filter.Counts():
			last = sig
		case sig == last:
			continue
		default:
			to = s.forCommand
		}
		select {
		case to <- sig:
		default: // nothing reads so many
		}
	}
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
	s.stopOwn()
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

// interrupt records that a signal has ended the run before the command had ended, or settling.
func (r *runCommand) interrupt(sig os.Signal) {
	r.interrupted = sig
	r.report.setInterrupted(signalName(sig))
}

// noteSignal says at once that a signal was received. It does not wait for stderr, which may be stuck.
func (r *runCommand) noteSignal(sig os.Signal, then string) {
	go fmt.Fprintf(r.output, "ctrlplane: %s received%s\n", signalName(sig), then)
}

// awaitEarlySignal returns the signal that has interrupted the start, and says so.
func (r *runCommand) awaitEarlySignal() os.Signal {
	sig := r.signals.interruption()
	fmt.Fprintf(r.output, "ctrlplane: %s received: the start is interrupted, and a second signal ends ctrlplane at once\n", signalName(sig))
	return sig
}

func signalExitCode(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitFailure
}
