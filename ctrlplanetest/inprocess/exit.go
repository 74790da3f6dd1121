package inprocess

import (
	"runtime"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane"
)

// lastStart reports whether the last start is interrupted or has failed; nil before the first and after one that has
// succeeded.
var lastStart atomic.Pointer[func() bool]

// hasFailed is lastStart of a start that has failed.
var hasFailed = func() bool { return true }

// installExit sets klog.OsExit once, for all control planes: hooks of an earlier one may read it at any time.
var installExit = sync.OnceFunc(func() {
	exit := klog.OsExit
	klog.OsExit = func(code int) {
		if failed := lastStart.Load(); failed != nil && (*failed)() {
			runtime.Goexit()
		}
		exit(code)
	}
})

// surviveInterruption makes the process survive a start that is interrupted or fails: upstream's post-start hooks
// treat the end of the start as a fatal error, which exits the process. Only the goroutine of the hook ends instead.
// started is called with what Start returns. If that is an error, the process survives until the next start,
// because Start does not wait for the hooks.
func surviveInterruption(s *ctrlplane.Server) (started func(error)) {
	failed := s.StartFailed
	installExit()
	before := lastStart.Swap(&failed)
	return func(err error) {
		switch {
		case err == nil:
			lastStart.Store(nil)
		case s.StartFailed(): // for good: s need not be kept
			lastStart.CompareAndSwap(&failed, &hasFailed)
		default: // it has not begun, and the other control plane may fail
			lastStart.Store(before)
		}
	}
}
