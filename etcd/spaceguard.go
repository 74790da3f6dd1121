package etcd

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
)

const (
	// minDiskBytes is the free space below which writes are refused. Etcd ends when it
	// cannot write: this is what it may still need for writes in flight and for a new log
	// file.
	minDiskBytes = 3 * segmentBytes
	// enoughDiskBytes is the free space from which writes are accepted again.
	enoughDiskBytes = minDiskBytes + segmentBytes
	// nearBytes is how much more there is when commits are most frequent: more than what
	// is written to the log, and so acknowledged, between two commits of the database.
	nearBytes = 16 * segmentBytes
	// measureBytes is how much may be written before the database is measured again.
	measureBytes = 1 << 20
	// spaceFactor is how much space a write takes: in the log, in the database, and for
	// what both allocate with it.
	spaceFactor = 3
	// commitBytes is how much may be written before the database must write it: what the
	// reserve has room for.
	commitBytes = reserveBytes / spaceFactor
)

// writeKind is what a request does to the size of the store.
type writeKind int

const (
	noWrite writeKind = iota
	deletion
	update
	creation
)

// spaceGuard refuses writes for which space is missing, and accepts them again when
// there is. When the disk is nearly full it refuses all, before etcd meets an error that
// it treats as fatal. When the database is nearly full it refuses new keys only: a
// deletion of an object may begin with an update of it.
type spaceGuard struct {
	dir    string
	free   func() (bytes uint64, known bool) // on the disk of dir
	files  *fileLimit
	commit func()                    // makes the database write what is in memory
	refuse func(reason string) error // returns the error of a refused write

	inFlight        atomic.Int64           // bytes of the writes that have not ended
	written         atomic.Int64           // bytes of all writes that were admitted
	unmeasured      atomic.Int64           // bytes admitted since spaceWatch was woken up
	noReserve       atomic.Bool            // the reserve of the database could not be allocated
	diskLow, dbFull atomic.Pointer[string] // why writes are refused; nil = they are not
	wakeUp          chan struct{}          // has an element when spaceWatch should look now

	measuring   sync.Mutex
	uncommitted atomic.Int64 // bytes admitted since commit was called
}

func newSpaceGuard(cfg Config, files *fileLimit, commit func()) *spaceGuard {
	g := &spaceGuard{dir: cfg.Dir, free: cfg.freeBytes, files: files, commit: commit, refuse: cfg.RefusedWrite, wakeUp: make(chan struct{}, 1)}
	if g.free == nil {
		g.free = func() (uint64, bool) { return freeBytes(cfg.Dir) }
	}
	if g.refuse == nil {
		g.refuse = func(reason string) error { return errors.New("etcd: " + reason) }
	}
	return g
}

// admit returns why a write is refused. If it is not, the caller calls end after it.
func (g *spaceGuard) admit(kind writeKind, bytes int) (end func(), err error) {
	if kind == noWrite {
		return func() {}, nil
	}
	end = func() { g.inFlight.Add(-int64(bytes)) }
	g.written.Add(int64(bytes))
	g.inFlight.Add(int64(bytes))
	g.uncommitted.Add(int64(bytes))
	g.measureDisk() // each time: another process may have filled it since the last write
	if g.unmeasured.Add(int64(bytes)) >= measureBytes {
		g.unmeasured.Store(0)
		g.wake()
	}
	if reason := g.diskLow.Load(); reason != nil {
		end()
		return nil, g.refuse(*reason)
	}
	if reason := g.dbFull.Load(); reason != nil && kind == creation {
		end()
		return nil, g.refuse(*reason)
	}
	return end, nil
}

// measureDisk refuses writes from now on if the disk has too little room for those in
// flight. Only spaceWatch accepts them again.
func (g *spaceGuard) measureDisk() {
	if g.diskLow.Load() != nil {
		return
	}
	g.measuring.Lock()
	defer g.measuring.Unlock()
	if reason := g.measure(); reason != "" && g.diskLow.Load() == nil {
		g.diskLow.Store(&reason)
		g.wake()
	}
}

// remeasureDisk accepts writes again if the disk has enough room by now.
func (g *spaceGuard) remeasureDisk() {
	g.measuring.Lock()
	defer g.measuring.Unlock()
	if g.measure() == "" {
		g.diskLow.Store(nil)
	}
}

// measure returns why no write may be admitted; empty = one may. It has the database write
// what is in memory when that may be too much for the reserve.
func (g *spaceGuard) measure() string {
	free, known := g.free()
	near := known && free < minDiskBytes+nearBytes
	if written := g.uncommitted.Load(); written >= commitBytes || near && written >= measureBytes {
		g.uncommitted.Add(-written)
		g.commit()
		free, known = g.free()
	}
	return g.shortage(free, known)
}

// shortage returns why no write may be admitted; empty = one may.
func (g *spaceGuard) shortage(free uint64, known bool) string {
	needed := minDiskBytes + spaceFactor*uint64(g.inFlight.Load())
	enough := max(needed, enoughDiskBytes)
	if g.diskLow.Load() != nil {
		needed = enough
	}
	switch {
	case known && free < needed:
		return fmt.Sprintf("all writes are refused: the disk of %s has %d MiB free, and etcd needs %d MiB: free space there", g.dir, free>>20, enough>>20)
	case g.noReserve.Load():
		return fmt.Sprintf("all writes are refused: the disk of %s, or a quota on it, has no room for %d MiB: free space there", g.dir, reserveBytes>>20)
	}
	return g.files.shortage()
}

// wake has spaceWatch look now.
func (g *spaceGuard) wake() {
	select {
	case g.wakeUp <- struct{}{}:
	default: // it will
	}
}

// explain replaces etcd's error for a full database, which can occur when it fills up
// faster than spaceWatch looks. Without a guard it returns err.
func (g *spaceGuard) explain(err error) error {
	if g == nil || !errors.Is(rpctypes.Error(err), rpctypes.ErrNoSpace) {
		return err
	}
	return g.refuse("all writes are refused for a moment: etcd's database has grown to its limit: try again; if it happens again, delete objects")
}
