package instrument

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// maxPanic is the longest value of a panic that is reported.
const maxPanic = 1 << 8

// reportPanic, deferred by a sync, reports a panic of the reconciler, which goes on: the frames
// that a trace-back shows are still on the stack.
func (s *syncRun) reportPanic() {
	if value := recover(); value != nil {
		text := strings.Join(strings.Fields(shorten(fmt.Sprint(value), maxPanic)), " ")
		s.err = "panicked: " + text + panickedAt()
		if s.controller.dies {
			s.controller.reporter.flush() // that the sync has begun is known then
		}
		panic(value)
	}
}

// panickedAt returns the file and the line of the innermost call of the operator's own code or of
// a library that it uses; "" if there is none.
func panickedAt() string {
	pcs := make([]uintptr, 128)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for {
		f, more := frames.Next()
		if f.Function != "" && !isInfrastructure(f.Function) {
			return fmt.Sprintf(" (%s:%d)", filepath.Base(f.File), f.Line)
		}
		if !more {
			return ""
		}
	}
}

// isInfrastructure reports whether a function is Go's runtime's, controller-runtime's or a method
// of this package.
func isInfrastructure(function string) bool {
	for _, prefix := range []string{"runtime.", "internal/runtime/", "sigs.k8s.io/controller-runtime/", "github.com/ctrlplane/ctrlplane/instrument.(*"} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}
