package observe

import "sync/atomic"

// callRun collects what the storage writes for an API call. Goroutines that outlive
// the call may still have its scope; what they write is not its effect.
type callRun struct {
	ended atomic.Bool
	last  atomic.Pointer[storedVersion]
	list  [1]Written // of end: most calls write one object
}

type storedVersion struct {
	Written
	before *storedVersion
}

// CallInScope reports whether the calling goroutine makes or serves a recorded call.
func CallInScope() bool {
	s := currentScope()
	return s != nil && s.call != nil && !s.call.ended.Load()
}

// NoteWrite records that the storage has written w for the call that the calling
// goroutine serves, if that call is recorded. It takes no lock.
func NoteWrite(w Written) {
	s := currentScope()
	if s == nil || s.call == nil || s.call.ended.Load() {
		return
	}
	v := &storedVersion{Written: w, before: s.call.last.Load()}
	for !s.call.last.CompareAndSwap(v.before, v) {
		v.before = s.call.last.Load()
	}
}

// end returns what was written, oldest first.
func (c *callRun) end() []Written {
	c.ended.Store(true)
	n := 0
	last := c.last.Load()
	for v := last; v != nil; v = v.before {
		n++
	}
	if n == 0 {
		return nil
	}
	list := c.list[:]
	if n > 1 {
		list = make([]Written, n)
	}
	for v := last; v != nil && n > 0; v = v.before {
		n--
		list[n] = v.Written
	}
	return list
}

// ServeCall runs serve, which serves a call of a client outside of the process, and sets
// wrote to what the storage has written meanwhile. name is the client's, for profiles.
func ServeCall(name string, wrote *[]Written, serve func()) {
	run := &callRun{}
	defer func() { *wrote = run.end() }()
	runInScope(&scope{labels: []label{{labelKey, name}}, call: run}, serve)
}
