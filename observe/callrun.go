package observe

import (
	"slices"
	"sync/atomic"
)

// callRun collects what the storage writes for an API call. Goroutines that outlive
// the call may still have its scope; what they write is not its effect, unless its caller has
// gone while the storage wrote: see end.
type callRun struct {
	state atomic.Int64 // the number of StorageWrites in flight, and flags

	first                [1]Written // most calls write one object
	hasFirst, firstKnown atomic.Bool
	last                 atomic.Pointer[storedVersion] // of the others

	late func([]Written) // set by end before runAnswered

	webhooks   atomic.Pointer[[]Webhook]
	isCreation atomic.Bool

	forces bool // it is a server-side apply that forces conflicts
	forced atomic.Pointer[forcedApply]
}

const (
	runAnswered = 1 << 40 // the call was answered before a write in flight
	runOver     = 1 << 41 // nothing more is an effect of the call
)

type storedVersion struct {
	Written
	before *storedVersion
}

// StorageWrite is a write that the storage makes for a recorded call.
type StorageWrite struct{ call *callRun }

// BeginWrite notes that the storage begins a write for the call that the calling goroutine
// makes or serves, if that call is recorded. End must follow. Neither takes a lock.
func BeginWrite() StorageWrite {
	s := currentScope()
	if s == nil || s.call == nil {
		return StorageWrite{}
	}
	for {
		state := s.call.state.Load()
		if state&runOver != 0 {
			return StorageWrite{}
		}
		if s.call.state.CompareAndSwap(state, state+1) {
			return StorageWrite{s.call}
		}
	}
}

// IsRecorded reports whether the record of a call will have the write.
func (s StorageWrite) IsRecorded() bool { return s.call != nil && s.call.state.Load()&runOver == 0 }

// Stored records that the write has stored w. It must precede End.
func (s StorageWrite) Stored(w Written) {
	if !s.IsRecorded() {
		return
	}
	w.Forced = s.call.forcedWith(w)
	if s.call.hasFirst.CompareAndSwap(false, true) {
		s.call.first[0] = w
		s.call.firstKnown.Store(true)
		return
	}
	v := &storedVersion{Written: w, before: s.call.last.Load()}
	for !s.call.last.CompareAndSwap(v.before, v) {
		v.before = s.call.last.Load()
	}
}

// End notes that the write has ended.
func (s StorageWrite) End() {
	if s.call == nil {
		return
	}
	if s.call.state.Add(-1) == runAnswered && s.call.state.CompareAndSwap(runAnswered, runOver) {
		s.call.late(s.call.written())
	}
}

// end ends the call and returns what was written, oldest first. If late is not nil, and the storage
// still writes, it returns false; late is then called with what was written, once no write is in flight:
// the storage ends each, and begins none for a caller that has gone.
func (c *callRun) end(late func([]Written)) (wrote []Written, ended bool) {
	c.late = late
	for {
		state := c.state.Load()
		next := state | runOver
		if late != nil && state > 0 {
			next = state | runAnswered
		}
		if c.state.CompareAndSwap(state, next) {
			if next&runOver == 0 {
				return nil, false
			}
			return c.written(), true
		}
	}
}

// written returns what was written, oldest first.
func (c *callRun) written() []Written {
	var list []Written
	for v := c.last.Load(); v != nil; v = v.before {
		list = append(list, v.Written)
	}
	switch {
	case !c.firstKnown.Load():
	case list == nil:
		return c.first[:]
	default:
		list = append(list, c.first[0])
	}
	slices.Reverse(list)
	return list
}

// ServedCall is a call of a client outside of the process.
type ServedCall struct{ run callRun }

// Serve runs serve, which serves the call. name is the client's, for profiles.
func (s *ServedCall) Serve(name string, serve func()) {
	runInScope(&scope{labels: []label{{labelKey, name}}, call: &s.run}, serve)
}

// End ends the call, once it has been answered, and returns what the storage has written for it. If late is
// not nil, and the storage still writes, End returns false; late is then called soon, in another
// goroutine, with what was written: see Called.MayStillWrite. A nil ServedCall has written nothing.
func (s *ServedCall) End(late func([]Written)) (wrote []Written, ended bool) {
	if s == nil {
		return nil, true
	}
	return s.run.end(late)
}
