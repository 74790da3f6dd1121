package ctrlplane

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

const (
	// Most of what a start allocates dies with it, some 200 MiB. The collector
	// lets the heap grow to 4 MiB × percent / 100 before it looks for the first
	// time; a start that needs more has a data folder to read, and from then on
	// it collects more often.
	startGCPercent, longStartGCPercent = 4000, 300
)

const (
	// busyWithin is how soon a collection follows the one before while there is
	// much to do.
	busyWithin = 2 * time.Second
	// quietFor is after how long without a collection memory is given back.
	quietFor = 3 * time.Second
)

// raiseGCPercent makes the garbage collector easy-going until settle is called.
func raiseGCPercent() (settle func()) {
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
	afterNextCollection(func() { set(longStartGCPercent, false) })
	return func() { set(percent, true) }
}

// afterNextCollection calls f once, after the next collection.
func afterNextCollection(f func()) {
	runtime.AddCleanup(new(*int), func(f func()) { f() }, f)
}

// governMemory lets garbage pile up while there is much to do, which spares most
// of what collecting it would cost, and gives memory back when it is quiet.
func (p *controlPlane) governMemory() {
	if os.Getenv("GOGC") != "" {
		return // a person has chosen
	}
	initial := debug.SetGCPercent(100)
	defer debug.SetGCPercent(initial)
	collected := make(chan struct{}, 1)
	quiet := time.NewTimer(quietFor)
	defer quiet.Stop()
	notifyAfterCollection(collected)
	for last := time.Now(); ; {
		select {
		case <-p.closing:
			return
		case <-collected:
			busy := time.Since(last) < busyWithin
			last = time.Now()
			if busy {
				debug.SetGCPercent(governedGCPercent(liveHeapBytes(), true))
				quiet.Reset(quietFor)
			}
			notifyAfterCollection(collected)
		case <-quiet.C:
			debug.SetGCPercent(governedGCPercent(liveHeapBytes(), false))
			p.releaseMemory()
			last = time.Time{} // its own collection tells nothing
		}
	}
}

// notifyAfterCollection tells when the collector has been through once more.
func notifyAfterCollection(tell chan<- struct{}) {
	afterNextCollection(func() {
		select {
		case tell <- struct{}{}:
		default:
		}
	})
}

// governedGCPercent lets garbage grow to three times what is alive but to no more than
// 320 MiB beyond it, unless that is less than as much again; when nothing goes on,
// to 40 % and 24 MiB.
func governedGCPercent(live uint64, busy bool) int {
	headroom := max(live, min(3*live, 320<<20))
	if !busy {
		headroom = max(live*2/5, 24<<20)
	}
	return int(100 * headroom / max(live, 1))
}

// liveHeapBytes returns the bytes of the heap that were alive at the latest collection.
func liveHeapBytes() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// releaseMemory returns to the system what was needed for a while only.
func (p *controlPlane) releaseMemory() {
	debug.FreeOSMemory()
	if err := dropTextPages(); err != nil {
		p.log.Info("the program's own pages stay in memory", "err", err)
	}
}
