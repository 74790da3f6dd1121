package observe

import (
	"strings"
	"unsafe"
)

// scope says which controller a goroutine works for. It is stored as the
// goroutine's profiler labels because these are inherited by child goroutines; the
// runtime has no other goroutine-local storage. labels must be the first field:
// it is what the profiler reads.
type scope struct {
	labels   []label
	recorder *Recorder
	run      *syncRun  // the sync that it works on, if any
	delivery *delivery // the event that it handles, if any
	call     *callRun  // the API call that it makes or serves, if any
}

// label has the memory layout of a label of runtime/pprof.
type label struct{ key, value string }

// labelKey distinguishes our label sets from others by the address of its bytes.
var labelKey = strings.Clone("controller")

func newScope(by *Recorder) *scope { return &scope{labels: by.labels, recorder: by} }

// currentScope returns the calling goroutine's scope, nil if its labels are not ours.
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

// activeSync returns the sync that the scope belongs to, nil if it has ended: a
// goroutine that outlives its sync works for the controller only.
func (s *scope) activeSync() *syncRun {
	if s == nil || s.run == nil || s.run.done.Load() {
		return nil
	}
	return s.run
}

// runInScope runs f in a scope and then restores the goroutine's previous labels.
func runInScope(s *scope, f func()) {
	before := getProfLabel()
	s.enter()
	defer setProfLabel(before)
	f()
}

// Both functions are kept accessible to linkname: see runtime/proflabel.go and
// go.dev/issue/67401.

//go:linkname setProfLabel runtime/pprof.runtime_setProfLabel
func setProfLabel(labels unsafe.Pointer)

//go:linkname getProfLabel runtime/pprof.runtime_getProfLabel
func getProfLabel() unsafe.Pointer
