package main

import (
	"os"
	"sync"
)

// devSignals are the signals that end dev.
type devSignals struct {
	signalChannel
	killNow   chan struct{} // closed by the second signal
	ended     chan struct{}
	first     os.Signal // final once listening has ended
	listening sync.WaitGroup
}

// listenForDevSignals keeps signals from ending the process: the first one ends the context
// of main, the second one kills the operator, and the third one ends the process. A closed
// output is reported as an error of its own, so that nothing is left behind; until the process ends,
// because main prints that error.
func listenForDevSignals() *devSignals {
	s := &devSignals{signalChannel: listenForSignals(), killNow: make(chan struct{}), ended: make(chan struct{})}
	surviveClosedOutput()
	s.listening.Go(func() {
		for n := 0; ; {
			select {
			case sig := <-s.ch:
				switch n++; n {
				case 1:
					s.first = sig
				case 2:
					close(s.killNow)
				default:
					exit(signalExitCode(sig))
				}
			case <-s.ended:
				return
			}
		}
	})
	return s
}

// stop gives the signals their default effect again, and returns the first one; nil = none.
func (s *devSignals) stop() os.Signal {
	s.signalChannel.stop()
	close(s.ended)
	s.listening.Wait()
	return s.first
}
