package main

import (
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/stopevent"
)

// onStopRequest calls do once another process asks this one to end, as "down" does, until stop
// has returned. It takes the place of SIGTERM, which no process of Windows can send.
func onStopRequest(do func()) (stop func()) {
	requested, over := stopevent.Requested(), make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Go(func() {
		select {
		case <-requested:
			do()
		case <-over:
		}
	})
	return sync.OnceFunc(func() {
		close(over)
		waiting.Wait()
	})
}
