package memory

import (
	"math"
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// otherMemory is how much of a limited memory is left to what is not the heap's: the pages of the
// executable and of the database, and the kernel's, in bytes.
const otherMemory = 96 << 20

// limitHeap has garbage collected before the memory that the control group of the process may use is
// used up: the kernel would end the process, although most of its heap is garbage. The function that it
// returns restores the default.
func limitHeap() (restore func()) {
	memory, err := memlimit.FromCgroup()
	if err != nil { // unlimited, or a system without control groups
		return func() {}
	}
	limit := heapLimit(memory)
	debug.SetMemoryLimit(limit)
	return func() {
		if debug.SetMemoryLimit(-1) == limit {
			debug.SetMemoryLimit(math.MaxInt64)
		}
	}
}

// heapLimit returns what the runtime may use of so much memory. Less than half of it would not save
// a process that needs more: it would only collect all the time.
func heapLimit(memory uint64) int64 {
	memory = min(memory, math.MaxInt64)
	return int64(memory - min(memory/2, max(memory/10, otherMemory)))
}
