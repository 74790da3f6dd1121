package observe

import (
	"runtime/metrics"
	"time"
)

// SettledQuiet is for how long a wait for a settled control plane wants no write, delivery or sync: longer than quietTime, as a
// program may pause between two writes. The noted time of the last one may be activityStep too early.
const SettledQuiet = 20 * time.Millisecond

const (
	// quietTime is how long there must have been no write, delivery or sync.
	// busyQuietTime is the same for a process that is never idle.
	quietTime     = 10 * time.Millisecond
	busyQuietTime = 500 * time.Millisecond

	// activityStep is by how much the noted time of the last write, delivery or sync may be too early.
	activityStep = time.Millisecond

	// idleChecks in a row must find the process idle, idleCheckPause apart. At most
	// maxIdleChecks are made.
	idleChecks     = 2
	maxIdleChecks  = 8
	idleCheckPause = 200 * time.Microsecond
)

// idleMetrics count the runnable and the running goroutines.
var idleMetrics = []string{"/sched/goroutines/runnable:goroutines", "/sched/goroutines/running:goroutines"}

// unknownMetrics returns the names that are not counters of this Go runtime.
func unknownMetrics(names []string) (unknown []string) {
	for _, name := range names {
		sample := []metrics.Sample{{Name: name}}
		if metrics.Read(sample); sample[0].Value.Kind() != metrics.KindUint64 {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// processIdle reports whether no goroutine except the caller's is runnable. Work
// that no hook can see, in unnamed queues and between informers and their
// handlers, passes from goroutine to goroutine, so one of them is always runnable.
func processIdle() bool {
	state := []metrics.Sample{{Name: idleMetrics[0]}, {Name: idleMetrics[1]}}
	found := 0
	for range maxIdleChecks {
		metrics.Read(state)
		if state[0].Value.Kind() != metrics.KindUint64 || state[1].Value.Kind() != metrics.KindUint64 {
			return false // see unknownMetrics
		}
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
