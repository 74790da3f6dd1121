// Package first delays the first garbage collection of a process. It imports little, so that
// a program can call it before packages that allocate much are initialized.
package first

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/memory/hugepages"
)

const (
	// DefaultPercent is the runtime's percentage.
	DefaultPercent = 100
	// delayedPercent makes the first collection come at 48 MiB: the runtime multiplies it
	// with its smallest heap, 4 MiB, as long as nothing is known to be alive.
	delayedPercent = DefaultPercent * 48 / 4
	// hugeHeap is how much of the heap is in huge pages from the beginning, in bytes: enough for a
	// start and a burst of Pods. Commands need 40 MiB, and unused pages cost little.
	hugeHeap = 512 << 20
)

// delayed says that the percentage is delayedPercent because Delay has set it.
var (
	mu      sync.Mutex
	delayed bool
)

// Delay raises the percentage until the first collection, or until TakeOver. It does nothing
// if the user has chosen how to collect.
func Delay() {
	mu.Lock()
	defer mu.Unlock()
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	if old := debug.SetGCPercent(delayedPercent); old != DefaultPercent {
		debug.SetGCPercent(old)
		return
	}
	hugepages.Reserve(hugeHeap) // little is alive yet, so that its collection takes no time
	delayed = true
	runtime.AddCleanup(new(*int), func(struct{}) { end() }, struct{}{})
}

// end sets the percentage to the default if it is still as Delay has set it.
func end() {
	mu.Lock()
	defer mu.Unlock()
	if !delayed {
		return
	}
	delayed = false
	if old := debug.SetGCPercent(DefaultPercent); old != delayedPercent {
		debug.SetGCPercent(old)
	}
}

// TakeOver ends the delay without a change of the percentage, which the caller sets if it
// returns true. It returns false, and ends nothing, if the user has chosen how to collect,
// which isChosen reports, given what the percentage is otherwise.
func TakeOver(isChosen func(otherwise uint64) bool) bool {
	mu.Lock()
	defer mu.Unlock()
	percent := uint64(DefaultPercent)
	if delayed {
		percent = delayedPercent
	}
	if isChosen(percent) {
		return false
	}
	delayed = false
	return true
}
