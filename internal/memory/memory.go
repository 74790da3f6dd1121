// Package memory adapts Go's garbage collector, and how much memory the process
// keeps, to the phases of a control plane: its start, times of much work, and
// times of little.
//
// What it changes belongs to the whole process: the percentage of
// debug.SetGCPercent, memory that the heap has freed (debug.FreeOSMemory) and, on
// Linux, the limit of debug.SetMemoryLimit, huge pages of the heap and resident pages of the executable
// file. It changes nothing if the user has set GOGC, GOMEMLIMIT or the percentage. As soon as something else in the
// process sets the percentage or the limit, it leaves that alone. Close restores the defaults.
package memory

import (
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/memory/first"
	"github.com/ctrlplane/ctrlplane/internal/memory/hugepages"
)

const (
	// startHeadroom is how far the heap may grow beyond what is alive before the
	// first collection of a start. Most of what a start allocates, some 180 MiB,
	// dies with it: a collection in the middle would be wasted.
	startHeadroom = 256 << 20
	// longStartPercent bounds the percentage after that collection: a start that
	// needs more has a data folder to read, and its heap stays.
	longStartPercent = 300
	// minBase is what the runtime multiplies with the percentage at least: 4 MiB is
	// its smallest heap.
	minBase = 4 << 20
)

const (
	// busyWithin is how soon one collection follows another while there is much to do.
	busyWithin = 2 * time.Second
	// quietAfter is how long after the last such collection memory is released.
	quietAfter = 3 * time.Second
)

const (
	busyHeadroom  = 320 << 20
	quietHeadroom = 24 << 20
	// longBusyHeadroom is for work that goes on for longer than longBusy: more collections
	// are the smaller cost then, some 5 % of its CPU.
	longBusyHeadroom = 160 << 20
	longBusySaving   = busyHeadroom - longBusyHeadroom
	longBusy         = 2 * time.Minute
	// maxSteadyHeadroom bounds the headroom of steady work, such as the leases of a
	// thousand nodes, which would otherwise be collected every few seconds.
	maxSteadyHeadroom = 96 << 20
	// steadyInterval is how far apart collections should be while there is steady work.
	steadyInterval = 20 * time.Second
)

// heap is what the runtime computes the next collection from.
type heap struct {
	live uint64 // bytes that the latest collection found alive
	base uint64 // live, stacks and global variables: what the percentage refers to
}

// collector is the garbage collector; tests replace it.
type collector struct {
	setPercent      func(int) (old int)
	read            func() heap
	allocated       func() uint64 // bytes since the start of the process
	afterCollection func(func())  // calls once, after the next collection
	extend          func(uint64)  // has so many bytes of the heap in huge pages, once they are used
	release         func() error  // returns unused memory to the system
	limit           func() func() // bounds the heap where a control group limits the memory of the process, until the result is called
}

// Governor sets the garbage collector's percentage, from Start until Close.
type Governor struct {
	collector collector

	mu       sync.Mutex
	governed bool // false when the Governor no longer sets the percentage
	starting bool
	set      int // the percentage that the Governor has set last

	unlimit func()
	closed  chan struct{}
	close   func()
	loop    sync.WaitGroup
}

// Start raises the percentage for the start of a control plane. If keep is set, or the
// user has chosen how to collect, the Governor does nothing.
func Start(keep bool) *Governor {
	if keep || !metricsSupported() || !first.TakeOver(userHasChosen) {
		return newGovernor(collector{})
	}
	g := newGovernor(collector{debug.SetGCPercent, readHeap, readAllocated, afterCollection, hugepages.Extend, release, limitHeap})
	g.start()
	return g
}

// userHasChosen reports whether GOGC, GOMEMLIMIT or their functions in
// runtime/debug were used, given what the percentage is otherwise.
func userHasChosen(otherwise uint64) bool {
	values, _ := readMetrics("/gc/gogc:percent", "/gc/gomemlimit:bytes")
	return os.Getenv("GOGC") != "" || values[0] != otherwise || values[1] != math.MaxInt64
}

// metricsSupported reports whether this version of Go has the metrics of readHeap.
func metricsSupported() bool {
	_, ok := readMetrics(slices.Concat(heapMetrics, []string{allocatedMetric})...)
	return ok
}

// readMetrics returns 0, and false, for metrics that this version of Go does not have.
func readMetrics(names ...string) (values []uint64, ok bool) {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	ok = true
	for _, sample := range samples {
		if sample.Value.Kind() != metrics.KindUint64 {
			values, ok = append(values, 0), false
			continue
		}
		values = append(values, sample.Value.Uint64())
	}
	return values, ok
}

func newGovernor(c collector) *Governor {
	closed := make(chan struct{})
	return &Governor{collector: c, unlimit: func() {}, closed: closed, close: sync.OnceFunc(func() { close(closed) })}
}

func (g *Governor) start() {
	g.governed, g.starting = true, true
	g.unlimit = g.collector.limit()
	g.set = startPercent(g.collector.read())
	g.collector.setPercent(g.set)
	g.collector.afterCollection(g.continueStart)
}

// continueStart lowers the percentage if the first collection comes before the
// start is over.
func (g *Governor) continueStart() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.starting {
		g.setPercent(min(longStartPercent, startPercent(g.collector.read())))
	}
}

// Started says that the start is over. From now on garbage accumulates while there
// is much to do, which saves most of what collecting it would cost, and memory is
// released when there is little. What the start has left is collected then, or when there
// is more of it: the first requests come now.
func (g *Governor) Started(log *slog.Logger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.starting {
		return
	}
	g.starting = false
	if g.setPercent(g.set) {
		g.loop.Go(func() { g.watchCollections(log) })
	}
}

// Close restores the defaults, unless another part of the process has changed them
// since, and returns when the Governor's goroutine has ended. It is idempotent.
func (g *Governor) Close() error {
	g.mu.Lock()
	g.starting = false
	g.setPercent(first.DefaultPercent)
	g.governed = false
	g.unlimit()
	g.mu.Unlock()
	g.close()
	g.loop.Wait()
	return nil
}

// setPercent needs the lock. It returns false, and changes nothing any more, once
// another part of the process has set the percentage.
func (g *Governor) setPercent(percent int) bool {
	if !g.governed {
		return false
	}
	if old := g.collector.setPercent(percent); old != g.set {
		g.collector.setPercent(old)
		g.governed = false
		return false
	}
	g.set = percent
	return true
}

// watchCollections sets the percentage after collections, and releases memory when none has
// soon followed another for a while and little is allocated.
func (g *Governor) watchCollections(log *slog.Logger) {
	collected := make(chan struct{}, 1)
	quiet := time.NewTimer(quietAfter)
	defer quiet.Stop()
	g.notifyAfterCollection(collected)
	allocated := g.collector.allocated() // when the timer was set
	last := collection{at: time.Now(), allocated: allocated}
	var busySince time.Time
	for isBusy, isQuiet := false, false; ; {
		select {
		case <-g.closed:
			return
		case <-collected:
			now := collection{at: time.Now(), allocated: g.collector.allocated()}
			if now.at.Sub(last.at) < busyWithin {
				if !isBusy {
					busySince = now.at
				}
				isBusy, isQuiet = true, false
				quiet.Reset(quietAfter)
				allocated = now.allocated
			}
			switch {
			case isBusy:
				if !g.makeRoom(now.at.Sub(busySince)) {
					return
				}
			case isQuiet:
				if !g.adjustPercent(last.steadyHeadroom(now)) {
					return
				}
			default: // the first one, some time after the start
				if !g.adjustPercent(asMuchAsIsAlive) {
					return
				}
			}
			last = now
			g.notifyAfterCollection(collected)
		case <-quiet.C:
			if now := g.collector.allocated(); g.wouldBeBusy(now - allocated) {
				allocated = now
				quiet.Reset(quietAfter)
				continue
			}
			if !g.adjustPercent(quietHeadroomFor) {
				return
			}
			isBusy, isQuiet = false, true
			if err := g.collector.release(); err != nil {
				log.Info("pages of the executable file stay in memory", "err", err)
			}
			last = collection{} // the collection that release makes says nothing
		}
	}
}

// collection is when memory was collected, and what had been allocated by then.
type collection struct {
	at        time.Time
	allocated uint64
}

// steadyHeadroom returns the headroom with which collections are steadyInterval apart if as
// much is allocated as between two collections, within limits.
func (c collection) steadyHeadroom(next collection) func(live uint64) uint64 {
	var wanted uint64
	if !c.at.IsZero() {
		wanted = uint64(float64(next.allocated-c.allocated) * steadyInterval.Seconds() / next.at.Sub(c.at).Seconds())
	}
	return func(live uint64) uint64 { return max(quietHeadroomFor(live), min(wanted, maxSteadyHeadroom)) }
}

// wouldBeBusy reports whether collections would soon follow each other with the headroom
// for a quiet time, given what was allocated within quietAfter.
func (g *Governor) wouldBeBusy(allocated uint64) bool {
	return allocated*uint64(busyWithin)/uint64(quietAfter) > quietHeadroomFor(g.collector.read().live)
}

// adjustPercent sets the percentage to a headroom, which depends on what is alive.
func (g *Governor) adjustPercent(headroom func(live uint64) uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.collector.read()
	return g.setPercent(percentFor(h, headroom(h.live)))
}

// makeRoom sets the percentage for work that has gone on for a while, and has the heap that it needs in huge pages.
func (g *Governor) makeRoom(busy time.Duration) bool {
	headroom := busyHeadroomFor
	if busy > longBusy {
		headroom = longBusyHeadroomFor
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	h := g.collector.read()
	room := headroom(h.live)
	if !g.setPercent(percentFor(h, room)) {
		return false
	}
	g.collector.extend(h.base + room) // changes the percentage for a moment: it needs the lock, too
	return true
}

// notifyAfterCollection sends once, after the next collection, and never blocks.
func (g *Governor) notifyAfterCollection(collected chan<- struct{}) {
	g.collector.afterCollection(func() {
		select {
		case collected <- struct{}{}:
		default:
		}
	})
}

// startPercent is the percentage with which the next collection comes when
// startHeadroom is allocated beyond what is alive, but no lower than the default.
func startPercent(h heap) int {
	return max(100, int(100*startHeadroom/max(h.base, minBase)))
}

func percentFor(h heap, headroom uint64) int { return int(100 * headroom / max(h.base, minBase)) }

// busyHeadroomFor lets garbage grow to three times what is alive but to no more than
// busyHeadroom, unless that is less than what is alive.
func busyHeadroomFor(live uint64) uint64 { return max(live, min(3*live, busyHeadroom)) }

// longBusyHeadroomFor is the same for work that goes on. Of a large heap it saves no more
// than of a small one, as each collection costs more.
func longBusyHeadroomFor(live uint64) uint64 {
	busy := busyHeadroomFor(live)
	return max(busy-min(busy, longBusySaving), min(3*live, longBusyHeadroom))
}

// asMuchAsIsAlive is the runtime's default.
func asMuchAsIsAlive(live uint64) uint64 { return live }

// quietHeadroomFor lets garbage grow to 40 % of what is alive, or quietHeadroom.
func quietHeadroomFor(live uint64) uint64 { return max(live*2/5, quietHeadroom) }

const allocatedMetric = "/gc/heap/allocs:bytes"

var heapMetrics = []string{"/gc/heap/live:bytes", "/gc/scan/stack:bytes", "/gc/scan/globals:bytes"}

func readHeap() heap {
	values, _ := readMetrics(heapMetrics...)
	return heap{live: values[0], base: values[0] + values[1] + values[2]}
}

func readAllocated() uint64 {
	values, _ := readMetrics(allocatedMetric)
	return values[0]
}

func afterCollection(f func()) {
	runtime.AddCleanup(new(*int), func(f func()) { f() }, f)
}

// release returns to the system what the heap has freed, and the pages of the
// executable that only a start needs.
func release() error {
	hugepages.Release()
	return dropTextPages()
}
