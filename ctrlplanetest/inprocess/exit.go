package inprocess

import (
	"context"
	"runtime"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane"
)

// surviveInterruption makes the process survive a start that is interrupted or fails, until restore
// is called: upstream's post-start hooks treat the end of the start as a fatal error, which exits the process.
// Only the goroutine of the hook ends instead. It sets s.OnStage, which must not be set later.
func surviveInterruption(ctx context.Context, s *ctrlplane.Server) (restore func()) {
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
	exit := klog.OsExit
	klog.OsExit = func(code int) {
		if ctx.Err() != nil || failed.Load() {
			runtime.Goexit()
		}
		exit(code)
	}
	return func() { klog.OsExit = exit }
}
