package memory

import (
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"

	"github.com/ctrlplane/ctrlplane/internal/memory/hugepages"
)

const (
	// otherMemory is how much of a limited memory is left to what is not the heap's: the pages of the
	// executable and of the database, and the kernel's, in bytes.
	otherMemory = 96 << 20
	// leastHeap bounds what the runtime is left, in bytes: with less than what is alive when a control plane is idle it
	// would only collect all the time.
	leastHeap = 128 << 20
	// leastDecrease is by how much the limit has to become lower to be set, in bytes.
	leastDecrease = 8 << 20
	// limitInterval is how often the limit follows what other processes use, which may be hundreds of MiB a second.
	limitInterval = 250 * time.Millisecond
	// releaseInterval is how often memory beyond a lower limit is returned at once: that takes a collection.
	releaseInterval = 5 * time.Second
)

// limitHeap has garbage collected before the memory that the control group of the process may use is
// used up: the kernel would end a process, although most of this heap is garbage. What the other processes of
// the group use, such as the command of a run and what it starts, is left to them. The function that it
// returns restores the default.
func limitHeap() (restore func()) {
	memory, err := memlimit.FromCgroup()
	if err != nil { // unlimited, or a system without control groups
		return func() {}
	}
	l := &limiter{memory: memory, others: othersInGroup(memory)}
	l.set = heapLimit(memory, l.others())
	debug.SetMemoryLimit(l.set)
	closed := make(chan struct{})
	var loop sync.WaitGroup
	loop.Go(func() { l.follow(closed) })
	return sync.OnceFunc(func() {
		close(closed)
		loop.Wait()
		l.change(math.MaxInt64)
	})
}

// limiter sets the limit of debug.SetMemoryLimit, until another part of the process sets it.
type limiter struct {
	memory uint64        // that the control group may use, in bytes
	others func() uint64 // what its other processes use and cannot be taken from them, in bytes
	set    int64         // the limit that was set last

	released time.Time // when memory was returned last
}

func (l *limiter) follow(closed <-chan struct{}) {
	ticker := time.NewTicker(limitInterval)
	defer ticker.Stop()
	for {
		select {
		case <-closed:
			return
		case <-ticker.C:
			if !l.change(heapLimit(l.memory, l.others())) {
				return
			}
		}
	}
}

// change sets the limit, unless it is little lower than before, and returns false if another part of the process has set one.
// What the runtime has beyond a lower limit it would return only in the course of seconds.
func (l *limiter) change(limit int64) bool {
	if debug.SetMemoryLimit(-1) != l.set {
		return false
	}
	before := l.set
	if limit == before || limit < before && before-limit < leastDecrease {
		return true
	}
	l.set = limit
	debug.SetMemoryLimit(limit)
	if limit < before && time.Since(l.released) >= releaseInterval && mapped() > uint64(limit) {
		hugepages.Release()
		l.released = time.Now()
	}
	return true
}

// mapped returns how much memory the runtime has from the system, in bytes.
func mapped() uint64 {
	values, _ := readMetrics("/memory/classes/total:bytes", "/memory/classes/heap/released:bytes")
	return values[0] - values[1]
}

// heapLimit returns what the runtime may use of so much memory.
func heapLimit(memory, others uint64) int64 {
	memory = min(memory, math.MaxInt64)
	free := memory - min(memory, others)
	limit := free - min(free, max(free/10, otherMemory))
	return int64(max(limit, min(leastHeap, memory/2)))
}
