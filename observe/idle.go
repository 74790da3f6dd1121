package observe

import (
	"runtime/metrics"
	"time"
)

const (
	// still is how long nothing may have been written, delivered or synced, and
	// noisy the same where the process is never idle.
	still = 10 * time.Millisecond
	noisy = 500 * time.Millisecond

	// looks in a row that must find the process idle, with pause between them, of
	// tries at most.
	looks = 2
	tries = 8
	pause = 200 * time.Microsecond
)

// idle says whether no goroutine but the caller's wants to run. What goes on
// where no hook is, in queues without a name and between informers and their
// handlers, is handed from goroutine to goroutine: at each moment one of them
// wants to run.
func idle() bool {
	state := []metrics.Sample{
		{Name: "/sched/goroutines/runnable:goroutines"},
		{Name: "/sched/goroutines/running:goroutines"},
	}
	found := 0
	for range tries {
		metrics.Read(state)
		if state[0].Value.Uint64() == 0 && state[1].Value.Uint64() <= 1 {
			if found++; found == looks {
				return true
			}
		} else {
			found = 0
		}
		time.Sleep(pause)
	}
	return false
}
