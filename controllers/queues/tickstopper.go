package queues

import (
	"runtime"
	"strings"
)

// tickerFunction is the goroutine of a queue that tells these two metrics, twice a second,
// what observe knows without it. With some ninety queues it is more than half of
// all that wakes up in a control plane where nothing happens.
const tickerFunction = ".updateUnfinishedWorkLoop"

// tickStopper is a metric that ends the goroutine that first sets it, which lets go of
// all it holds, as long as that is a ticker.
type tickStopper struct{}

func (tickStopper) Set(float64) {
	if calledBy(tickerFunction) {
		runtime.Goexit()
	}
}

// calledBy says whether a function or method whose name ends so is under way in
// the calling goroutine.
func calledBy(name string) bool {
	var pcs [16]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.Function, name) {
			return true
		}
		if !more {
			return false
		}
	}
}
