package ctrlplane

import (
	"runtime/debug"
	"sync"
	"time"
)

const (
	// startGCPercent is the collector's target while starting. Most of what a
	// start allocates dies with it: at 100 the collector takes a tenth of a
	// second more, and off altogether leaves a fragmented heap a quarter larger.
	startGCPercent = 300
	// giveBackDelay is how long after the start memory is given back: by then
	// the last of what starts in the background is through.
	giveBackDelay = 3 * time.Second
)

// relaxMemory makes the garbage collector easy-going until settle is called.
func relaxMemory() (settle func()) {
	percent := debug.SetGCPercent(startGCPercent)
	return sync.OnceFunc(func() { debug.SetGCPercent(percent) })
}

// giveBack returns to the system, a little after the start, what only the start
// needed.
func (p *plane) giveBack() {
	select {
	case <-p.ending:
		return
	case <-time.After(giveBackDelay):
	}
	debug.FreeOSMemory()
	if err := forgetProgram(); err != nil {
		p.log.Info("the program's own pages stay in memory", "err", err)
	}
}
