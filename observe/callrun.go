package observe

import "sync/atomic"

// callRun collects what the storage writes for an API call. Goroutines that outlive
// the call may still have its scope; what they write is not its effect.
type callRun struct {
	ended atomic.Bool
	last  atomic.Pointer[storedVersion]
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
	list := make([]Written, n)
	for v := last; v != nil && n > 0; v = v.before {
		n--
		list[n] = v.Written
	}
	return list
}

// CollectWrites runs serve, which serves a call that is recorded elsewhere, and returns
// what the storage has written meanwhile, in the goroutines that serve the call.
func CollectWrites(serve func()) []Written {
	run := &callRun{}
	runInScope(&scope{labels: foreignLabels, call: run}, serve)
	return run.end()
}

// foreignLabels label the goroutines that serve calls of other processes.
var foreignLabels = []label{{labelKey, "client"}}
