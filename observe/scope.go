package observe

import (
	"strings"
	"unsafe"
)

// scope says for whom a goroutine works. It is the goroutine's profiler label
// set, which its children inherit: the runtime has no other memory of that
// kind. labels has to come first, as that is all that the profiler reads.
type scope struct {
	labels   []label
	recorder *Recorder
	outer    *scope    // what the goroutine had before a sync
	work     *work     // the sync that it is on, if any
	delivery *delivery // the event that it handles, if any
}

// label is laid out as the labels of runtime/pprof.
type label struct{ key, value string }

// labelKey tells our label sets from others: it is the only string at its address.
var labelKey = strings.Clone("controller")

func newScope(by *Recorder) *scope { return &scope{labels: by.labels, recorder: by} }

// currentScope returns the calling goroutine's scope; nil if it has none of ours.
func currentScope() *scope {
	p := getProfLabel()
	if p == nil {
		return nil
	}
	labels := *(*[]label)(p)
	if len(labels) == 0 || unsafe.StringData(labels[0].key) != unsafe.StringData(labelKey) {
		return nil
	}
	return (*scope)(p)
}

func (s *scope) enter() { setProfLabel(unsafe.Pointer(s)) }

// activeSync is the sync that the scope belongs to, unless that is over: a goroutine
// that a sync has left behind works for the controller only.
func (s *scope) activeSync() *work {
	if s == nil || s.work == nil || s.work.done.Load() {
		return nil
	}
	return s.work
}

// runInScope runs f with a scope, and gives the goroutine back what it had.
func runInScope(s *scope, f func()) {
	before := getProfLabel()
	s.enter()
	defer setProfLabel(before)
	f()
}

// Both functions are kept open to linkname: runtime/proflabel.go, go.dev/issue/67401.

//go:linkname setProfLabel runtime/pprof.runtime_setProfLabel
func setProfLabel(labels unsafe.Pointer)

//go:linkname getProfLabel runtime/pprof.runtime_getProfLabel
func getProfLabel() unsafe.Pointer
