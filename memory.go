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
	// busyRate is what is allocated in a second while there is much to do.
	busyRate = 32 << 20
	// quietLooks is after how many quiet seconds memory is given back.
	quietLooks = 3
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

// governMemory lets garbage pile up while there is much to do, which spares half
// of what collecting it would cost, and gives memory back when it is quiet.
func (p *plane) governMemory() {
	if os.Getenv("GOGC") != "" {
		return // a person has chosen
	}
	initial := debug.SetGCPercent(100)
	defer debug.SetGCPercent(initial)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	last, _ := heap()
	for quiet := 0; ; {
		select {
		case <-p.ending:
			return
		case <-ticker.C:
		}
		allocated, live := heap()
		busy := allocated-last > busyRate
		last = allocated
		if quiet++; busy {
			quiet = 0
		}
		if busy || quiet == quietLooks {
			debug.SetGCPercent(gcPercent(live, busy))
		}
		if quiet == quietLooks {
			p.giveBack()
		}
	}
}

// gcPercent lets garbage grow to twice what is alive but to no more than 256 MiB
// beyond it, unless that is less than as much again; when nothing goes on, to
// 40 % and 24 MiB.
func gcPercent(live uint64, busy bool) int {
	headroom := max(live, min(2*live, 256<<20))
	if !busy {
		headroom = max(live*2/5, 24<<20)
	}
	return int(100 * headroom / max(live, 1))
}

// heap returns the bytes that were ever allocated and those that were alive at
// the latest collection.
func heap() (allocated, live uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

// giveBack returns to the system what was needed for a while only.
func (p *plane) giveBack() {
	debug.FreeOSMemory()
	if err := forgetProgram(); err != nil {
		p.log.Info("the program's own pages stay in memory", "err", err)
	}
}
