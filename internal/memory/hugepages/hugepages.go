// Package hugepages has the kernel map the heap in huge pages, on Linux where it does so for those
// that ask (/sys/kernel/mm/transparent_hugepage/enabled is "madvise"). Mapping 2 MiB takes one page
// fault in place of 512, which cost a third of the CPU of a control plane on a virtual machine where
// a fault takes 17 µs.
//
// The runtime advises nothing about the memory that it maps for the heap, so that the advice has to
// come before the heap grows into it: Reserve makes the heap larger in advance.
package hugepages

import (
	"cmp"
	"runtime/debug"
	"slices"
	"sync"
)

// maxReserved bounds what Reserve reserves in all, in bytes.
const maxReserved = 8 << 30

// hugePage is the size of one, in bytes.
const hugePage = 2 << 20

// span is a range of addresses.
type span struct{ start, end uintptr }

var (
	mu      sync.Mutex
	spans   []span // of the heap, that are advised, in order and apart
	avoided bool   // they are advised to be in small pages
)

// Reserve makes the heap large enough for size bytes, and has them mapped in huge pages as soon as they
// are used; until then they take no memory. It collects the garbage, and counts as an allocation of that
// size. Without it, or if it cannot, everything works, too. Only the program ctrlplane calls it: another
// program that imports these packages does not expect a heap of that size.
func Reserve(size uint64) {
	mu.Lock()
	defer mu.Unlock()
	reserve(size)
}

// Extend ends what Release has begun, and makes the heap larger if Reserve has been called for less than size bytes.
func Extend(size uint64) {
	mu.Lock()
	defer mu.Unlock()
	if len(spans) > 0 {
		reserve(size)
	}
	if avoided {
		avoided = false
		for _, s := range spans {
			s.advise(true)
		}
	}
}

// reserve needs the lock. It at least doubles what is reserved, because it collects. What it asks for may overlap with what
// was reserved before and is free.
func reserve(size uint64) {
	before := reserved()
	wanted := min(max(size, 2*before), maxReserved)
	if size > before && wanted > before && supported(wanted) {
		spans = union(append(spans, grow(wanted)))
	}
}

// reserved returns how many bytes spans have.
func reserved() (bytes uint64) {
	for _, s := range spans {
		bytes += uint64(s.end - s.start)
	}
	return bytes
}

// union returns the same addresses in order, as spans that neither overlap nor touch.
func union(spans []span) (merged []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for _, s := range spans {
		if last := len(merged) - 1; last >= 0 && s.start <= merged[last].end {
			merged[last].end = max(merged[last].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// Release returns unused memory of the heap to the system, as debug.FreeOSMemory does, and has what is
// used from now on mapped in small pages, until Extend is called: in huge ones, the released memory
// would come back with the first byte that is used.
func Release() {
	mu.Lock()
	defer mu.Unlock()
	for _, s := range spans {
		s.advise(false)
	}
	avoided = true
	debug.FreeOSMemory()
	for _, s := range spans {
		s.split()
	}
}
