package ctrlplane

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	// Most of what a start allocates dies with it, some 200 MiB. The collector
	// lets the heap grow to 4 MiB × percent / 100 before it looks for the first
	// time; a start that needs more has a data folder to read, and from then on
	// it collects more often.
	startGCPercent, longStartGCPercent = 4000, 300
	// giveBackDelay is how long after the start memory is given back: by then
	// the last of what starts in the background is through.
	giveBackDelay = 3 * time.Second
)

// relaxMemory makes the garbage collector easy-going until settle is called.
func relaxMemory() (settle func()) {
	percent := debug.SetGCPercent(startGCPercent)
	var mu sync.Mutex
	settled := false
	set := func(to int, last bool) {
		mu.Lock()
		defer mu.Unlock()
		if !settled {
			debug.SetGCPercent(to)
		}
		settled = settled || last
	}
	onCollection(func() { set(longStartGCPercent, false) })
	return func() { set(percent, true) }
}

// onCollection calls f once, after the next collection.
func onCollection(f func()) {
	runtime.AddCleanup(new(*int), func(f func()) { f() }, f)
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
