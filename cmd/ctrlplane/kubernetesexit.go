package main

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane"
)

// kubernetesFailed is the error message when a component of Kubernetes ends the process.
const kubernetesFailed = "a Kubernetes component exited with an error"

// onKubernetesExit replaces what Kubernetes does after a fatal error: it logs why and
// ends the process. exitNow does that here, once stderr says where the log is.
//
// While a start is being interrupted, or has failed, only the calling goroutine ends:
// post-start hooks treat the end of the start as a fatal error. started reports whether
// the start has succeeded. It sets s.OnStage, which must not be set later.
func onKubernetesExit(ctx context.Context, s *ctrlplane.Server, started *atomic.Bool, logPath func() string, exitNow func()) {
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
	klog.OsExit = func(int) {
		if (ctx.Err() != nil || failed.Load()) && !started.Load() {
			runtime.Goexit()
		}
		fmt.Fprintf(errorOutput(), "ctrlplane: %s: see the end of %s\n", kubernetesFailed, logPath())
		exitNow()
	}
}

// logEarlyStderr logs what a package writes to the stderr that earlystderr captured.
func logEarlyStderr(line string) { klog.Background().Info("written to stderr", "line", line) }
