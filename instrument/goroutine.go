package instrument

import (
	"bytes"
	"runtime"
	"strconv"
	"sync"
)

// work is what a goroutine works on: the event that its handler runs for, or a sync. A
// work queue gets no context, so the goroutine is all that leads from an add to its cause.
type work struct {
	event *eventRun
	sync  *syncRun
}

// goroutines has the work of goroutines, by number.
type goroutines struct{ of sync.Map }

// enter notes the work of the calling goroutine until leave is called.
func (g *goroutines) enter(w work) (leave func()) {
	id := goroutineID()
	if id == 0 {
		return func() {}
	}
	before, had := g.of.Swap(id, w)
	return func() {
		if had {
			g.of.Store(id, before)
			return
		}
		g.of.Delete(id)
	}
}

// current returns the work of the calling goroutine.
func (g *goroutines) current() (w work) {
	if found, ok := g.of.Load(goroutineID()); ok {
		w = found.(work)
	}
	return w
}

// goroutineID returns the number of the calling goroutine, as a stack trace shows it; 0 if
// it does not.
func goroutineID() uint64 {
	var buf [64]byte
	trace := buf[:runtime.Stack(buf[:], false)]
	digits, _, _ := bytes.Cut(bytes.TrimPrefix(trace, []byte("goroutine ")), []byte(" "))
	id, _ := strconv.ParseUint(string(digits), 10, 64) // 0 with an error
	return id
}
