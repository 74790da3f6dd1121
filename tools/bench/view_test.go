package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// newViewTest returns options with the test binary as ctrlplane, and a working directory.
func newViewTest(t *testing.T, fake string) (options, *workDir) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(fakeEnv, fake)
	r, err := newWorkDir(t.TempDir(), "room")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	return options{ctrlplane: self}, r
}

func TestAttachView(t *testing.T) {
	o, r := newViewTest(t, "view")
	v, err := o.attachView(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer v.close()
	want := int64(len("top --data-dir " + r.join("data") + "\n"))
	err = pollUntil(t.Context(), time.Millisecond, func(context.Context) error {
		if v.drawn.Load() < want {
			return context.DeadlineExceeded
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	v.close()
	v.close()
	if pid := v.processes[0].cmd.Process.Pid; running(pid) {
		t.Errorf("process %d is still running", pid)
	}
}

func TestAttachViewReportsExit(t *testing.T) {
	o, r := newViewTest(t, "fail")
	_, err := o.attachView(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), " ended: exit status 3") {
		t.Errorf("got %v", err)
	}
	if log, err := os.ReadFile(r.log.Name()); err != nil || !bytes.Contains(log, []byte("cannot start")) {
		t.Errorf("the log contains %q, %v", log, err)
	}
}

// A measurement without a view measures its burst all the same, and closes no view.
func TestRunWithoutView(t *testing.T) {
	var v *attachedView
	func() {
		defer func() {
			if p := recover(); p != nil {
				t.Errorf("closing no view panics: %v", p)
			}
		}()
		v.close()
	}()
	interrupted := errors.New("the burst was interrupted")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(interrupted)
	m := &measurement{view: v, controlPlane: &controlPlane{}}
	if err := m.measureBurstWithView(ctx, &apiClient{client: &http.Client{}}, smallBurst); !errors.Is(err, interrupted) {
		t.Errorf("got %v, want %v", err, interrupted)
	}
}
