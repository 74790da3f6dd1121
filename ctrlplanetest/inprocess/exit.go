package inprocess

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane"
)

// lastStart reports whether the last start is interrupted or has failed; nil before the first and after one that has
// succeeded.
var lastStart atomic.Pointer[func() bool]

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
// because Start does not wait for the hooks. It sets s.OnStage, which must not be set later.
func surviveInterruption(ctx context.Context, s *ctrlplane.Server) (started func(error)) {
	var failed atomic.Bool
	report := s.OnStage
	s.OnStage = func(st ctrlplane.Stage) {
		if st.Err != nil {
			failed.Store(true)
		}
		if report != nil {
			report(st)
		}
	}
	ended := func() bool { return ctx.Err() != nil || failed.Load() }
	installExit()
	before := lastStart.Swap(&ended)
	return func(err error) {
		switch {
		case err == nil:
			lastStart.Store(nil)
		case errors.Is(err, ctrlplane.ErrRunning): // it has not begun, and the other control plane may fail
			lastStart.Store(before)
		default:
			failed.Store(true)
		}
	}
}
