package inprocess_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"sync/atomic"
	"testing"

	"k8s.io/klog/v2"

	"github.com/ctrlplane/ctrlplane"
	"github.com/ctrlplane/ctrlplane/ctrlplanetest"
	"github.com/ctrlplane/ctrlplane/ctrlplanetest/inprocess"
)

// TestInterruptedStart interrupts a start, as Options.StartTimeout does, while a post-start hook runs, which then
// exits the process if it is not kept from it. Others of upstream's may do so in this test, too. It is in the
// first file of the package, because the other tests share a control plane.
func TestInterruptedStart(t *testing.T) {
	var exits atomic.Int64
	exit := klog.OsExit
	defer func() { klog.OsExit = exit }()
	klog.OsExit = func(int) {
		exits.Add(1)
		runtime.Goexit()
	}
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
	if _, err := os.Stat(logPath); logPath == "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the log file %q: %v, want one that is removed with the control plane", logPath, err)
	}
	if n := exits.Load(); n > 0 {
		t.Errorf("%d hooks exit the process: %v", n, err)
	}
	exits.Store(0)
	if failHook(); exits.Load() != 1 {
		t.Error("klog.OsExit is not restored")
	}
}
