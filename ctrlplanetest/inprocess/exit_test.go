package inprocess_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/ctrlplanetest/inprocess"
)

var (
	exits    atomic.Int64
	counting atomic.Bool
)

// countExits makes klog.OsExit count exits while counting is set. It is not restored: a hook may read it later.
var countExits = sync.OnceFunc(func() {
	exit := klog.OsExit
	klog.OsExit = func(code int) {
		if !counting.Load() {
			exit(code)
		}
		exits.Add(1)
		runtime.Goexit()
	}
})

// TestInterruptedStart interrupts a start, as Options.StartTimeout does, while a post-start hook runs, which then
// exits the process if it is not kept from it. Others of upstream's may do so in this test, too. It is in the
// first file of the package, because the other tests share a control plane.
func TestInterruptedStart(t *testing.T) {
	countExits()
	counting.Store(true)
	defer counting.Store(false)
	exits.Store(0)
	failHook := func() {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			klog.OsExit(255)
		}()
		<-ended
	}
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	timedOut := errors.New("timed out")
	var logPath string
	backend := inprocess.Backend{Configure: func(s *ctrlplane.Server) {
		s.OnStage = func(st ctrlplane.Stage) {
			if st.Name == "API server" && st.Ended {
				logPath = s.LogPath()
				interrupt(timedOut)
				failHook()
			}
		}
	}}
	running, err := backend.Start(ctx, ctrlplanetest.Options{})
	switch {
	case errors.Is(err, ctrlplane.ErrRunning):
		t.Skip("another test has started the control plane that is shared")
	case err == nil:
		t.Error(running.Close())
		t.Fatal("the start is not interrupted")
	}
	t.Cleanup(failHook) // one that ends later than this test
	defer inprocess.SurviveFailedStart()
	if _, err := os.Stat(logPath); logPath == "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log file %q: %v, want one that is removed with the control plane", logPath, err)
	}
	failHook() // one that ends later than Start
	if n := exits.Load(); n > 0 {
		t.Errorf("%d hooks exit the process: %v", n, err)
	}
	// The next start: one that is refused changes nothing, and after one that succeeds, fatal errors exit the process.
	inprocess.SurviveInterruption(&ctrlplane.Server{})(ctrlplane.ErrRunning)
	if failHook(); exits.Load() > 0 {
		t.Error("a hook exits the process after a start that is refused")
	}
	inprocess.SurviveInterruption(&ctrlplane.Server{})(nil)
	inprocess.SurviveInterruption(&ctrlplane.Server{})(ctrlplane.ErrRunning)
	if failHook(); exits.Load() == 0 { // more than one if hooks of the interrupted start are that late
		t.Error("a fatal error of a control plane that has started does not exit the process")
	}
}
