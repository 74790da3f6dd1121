package filewatch

import (
	"crypto/sha256"
	"maps"
	"slices"
	"time"
)

// collect gathers paths and sends them, sorted, once none has arrived for a while, or
// after maxDelay while they go on. It leaves out files that have the known content, which is
// that of their last report. exists receives further files to know. It returns when stop is closed.
func collect(stop <-chan struct{}, paths, exists <-chan string, out chan<- []string, quiet time.Duration, known contents) {
	pending := map[string]*[sha256.Size]byte{} // what is in the files once it is quiet
	var send chan<- []string                   // nil until there is something to send
	var first time.Time                        // when the oldest of pending arrived
	timer := time.NewTimer(0)
	<-timer.C
	defer timer.Stop()
	for {
		select {
		case path := <-exists:
			known.learnExists(path)
		case path := <-paths:
			if len(pending) == 0 {
				first = time.Now()
			}
			pending[path], send = nil, nil
			timer.Reset(min(quiet, max(0, maxDelay-time.Since(first))))
		case <-timer.C:
			for path := range pending {
				sum, changed := known.changed(path)
				if pending[path] = sum; !changed {
					delete(pending, path)
				}
			}
			if len(pending) > 0 {
				send = out
			}
		case send <- slices.Sorted(maps.Keys(pending)):
			for path, sum := range pending {
				known.learn(path, sum)
			}
			clear(pending)
			send = nil
		case <-stop:
			return
		}
	}
}
