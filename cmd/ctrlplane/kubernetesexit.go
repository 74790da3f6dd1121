package main

import (
	"fmt"
	"runtime"

	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane"
)

// kubernetesFailed is the error message when a component of Kubernetes ends the process.
const kubernetesFailed = "a Kubernetes component exited with an error"

// onKubernetesExit replaces what Kubernetes does after a fatal error: it logs why and
// ends the process. exitNow does that here, once stderr says where the log is.
//
// While a start is being interrupted, or has failed, only the calling goroutine ends:
// post-start hooks treat the end of the start as a fatal error.
func onKubernetesExit(s *ctrlplane.Server, logPath func() string, exitNow func()) {
	klog.OsExit = func(int) {
		if s.StartFailed() {
			runtime.Goexit()
		}
		fmt.Fprintf(errorOutput(), "ctrlplane: %s: see the end of %s\n", kubernetesFailed, logPath())
		exitNow()
	}
}

// logEarlyStderr logs what a package writes to the stderr that earlystderr captured.
func logEarlyStderr(line string) { klog.Background().Info("written to stderr", "line", line) }
