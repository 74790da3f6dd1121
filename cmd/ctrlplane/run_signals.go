package main

import (
	"os"
	"os/signal"
	"syscall"
)

// signals are those that this process gets while it runs a command.
type signals struct{ c chan os.Signal }

// listen takes the signals that end this process.
func listen() signals {
	s := signals{make(chan os.Signal, 16)}
	signal.Notify(s.c, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	return s
}

// more takes those, too, that mean something to the command only.
func (s signals) more() { signal.Notify(s.c, forTheCommand...) }

// stop lets signals do again what they do by default.
func (s signals) stop() { signal.Stop(s.c) }

// code is the exit code for the signal that has ended the start.
func (s signals) code() int { return codeOfSignal(<-s.c) }

func codeOfSignal(sig os.Signal) int {
	if n, ok := sig.(syscall.Signal); ok {
		return exitSignal + int(n)
	}
	return exitOurs
}
