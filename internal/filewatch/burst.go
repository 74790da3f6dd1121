package filewatch

import (
	"maps"
	"slices"
	"time"
)

// collect gathers paths and sends them, sorted, once none has arrived for a while, or
// after maxDelay while they go on. It returns when stop is closed.
func collect(stop <-chan struct{}, paths <-chan string, out chan<- []string, quiet time.Duration) {
	pending := map[string]bool{}
	var send chan<- []string // nil until there is something to send
	var first time.Time      // when the oldest of pending arrived
	timer := time.NewTimer(0)
	<-timer.C
	defer timer.Stop()
	for {
		select {
		case path := <-paths:
			if len(pending) == 0 {
				first = time.Now()
			}
			pending[path], send = true, nil
			timer.Reset(min(quiet, max(0, maxDelay-time.Since(first))))
		case <-timer.C:
			send = out
		case send <- slices.Sorted(maps.Keys(pending)):
			clear(pending)
			send = nil
		case <-stop:
			return
		}
	}
}
