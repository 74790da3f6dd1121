package observe

import (
	"slices"
	"time"
)

// Speed is how fast controllers, the scheduler and the simulated kubelets work.
type Speed string

// The speeds, the fastest first. With SpeedStep, each key waits until it is released.
const (
	SpeedFull  Speed = "1"
	SpeedHalf  Speed = "1/2"
	SpeedFifth Speed = "1/5"
	SpeedTenth Speed = "1/10"
	SpeedStep  Speed = "step"
)

// Speeds lists all speeds, the fastest first.
var Speeds = []Speed{SpeedFull, SpeedHalf, SpeedFifth, SpeedTenth, SpeedStep}

// Delay returns how long a worker waits with each key before it works on it; 0 for
// SpeedFull and for SpeedStep, which waits without a limit. A key counts as 50 ms of
// work, so that at 1/10 it takes half a second.
func (s Speed) Delay() time.Duration {
	const work = 50 * time.Millisecond
	switch s {
	case SpeedHalf:
		return work
	case SpeedFifth:
		return 4 * work
	case SpeedTenth:
		return 9 * work
	}
	return 0
}

// String returns the speed as it is shown.
func (s Speed) String() string {
	switch s {
	case "":
		return "unknown"
	case SpeedHalf:
		return "½×"
	case SpeedFifth:
		return "⅕×"
	case SpeedStep:
		return "step by step"
	}
	return string(s) + "×"
}

// Slower returns the next slower speed, and s if there is none.
func (s Speed) Slower() Speed { return s.next(1) }

// Faster returns the next faster speed, and s if there is none.
func (s Speed) Faster() Speed { return s.next(-1) }

func (s Speed) next(step int) Speed {
	at := slices.Index(Speeds, s)
	if at < 0 {
		return s
	}
	return Speeds[min(max(at+step, 0), len(Speeds)-1)]
}

// CurrentSync returns the sync that the calling goroutine works on; the zero value if
// it works on none.
func CurrentSync() SyncTurn { return SyncTurn{currentScope().activeSync()} }

// SyncTurn is what may make a sync wait before it begins its work.
type SyncTurn struct{ run *syncRun }

// Take reports whether the sync has not waited yet: only the first call for a sync
// reports true.
func (t SyncTurn) Take() bool { return t.run != nil && !t.run.hadTurn.Swap(true) }

// SetWaiting says whether the sync is waiting.
func (t SyncTurn) SetWaiting(waits bool) {
	if t.run != nil {
		t.run.waits.Store(waits)
	}
}

// Describe returns the sync as a snapshot shows it, with its controller.
func (t SyncTurn) Describe() (controller string, s RunningSync) {
	if t.run == nil {
		return "", RunningSync{}
	}
	return t.run.queue.controllerName(), t.run.describe()
}
