package observe

import (
	"runtime/metrics"
	"time"
)

const (
	// quietTime is how long nothing may have been written, delivered or synced, and
	// noisy the same where the process is never idle.
	quietTime     = 10 * time.Millisecond
	busyQuietTime = 500 * time.Millisecond

	// idleChecks in a row that must find the process idle, with pause between them, of
	// tries at most.
	idleChecks     = 2
	maxIdleChecks  = 8
	idleCheckPause = 200 * time.Microsecond
)

// processIdle says whether no goroutine but the caller's wants to run. What goes on
// where no hook is, in queues without a name and between informers and their
// handlers, is handed from goroutine to goroutine: at each moment one of them
// wants to run.
func processIdle() bool {
	state := []metrics.Sample{
		{Name: "/sched/goroutines/runnable:goroutines"},
		{Name: "/sched/goroutines/running:goroutines"},
	}
	found := 0
	for range maxIdleChecks {
		metrics.Read(state)
		if state[0].Value.Uint64() == 0 && state[1].Value.Uint64() <= 1 {
			if found++; found == idleChecks {
				return true
			}
		} else {
			found = 0
		}
		time.Sleep(idleCheckPause)
	}
	return false
}
