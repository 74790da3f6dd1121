package ctrlplanetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// lazyControlPlane starts a control plane at its first use.
type lazyControlPlane struct {
	options      Options
	mu           sync.Mutex
	started      bool
	controlPlane *ControlPlane // nil if the start failed
	err          error         // of the start
}

// sharedControlPlane is that of the process: TestMain and the tests share nothing
// else. Main sets it before any test runs.
var sharedControlPlane *lazyControlPlane

// Main is all that a TestMain needs: it runs the tests and exits with their code.
// The control plane starts at the first call of Shared and stops after the last
// test. It takes at most one Options.
func Main(m *testing.M, opts ...Options) { os.Exit(Run(m, opts...)) }

// Run is Main for a TestMain that has to clean up before it exits with the code.
func Run(m *testing.M, opts ...Options) int {
	code, err := runTests(m.Run, opts)
	if err != nil {
		fmt.Fprintf(os.Stderr, "ctrlplanetest: %v\n", err)
	}
	return code
}

func runTests(tests func() int, opts []Options) (code int, err error) {
	o, err := singleOptions(opts)
	if err != nil {
		return 2, err
	}
	sharedControlPlane = &lazyControlPlane{options: o}
	code = tests()
	if err := sharedControlPlane.close(); err != nil {
		return max(code, 1), err
	}
	return code, nil
}

// Shared returns the control plane that the tests of this package share. TestMain
// must call Main. With the backend of package inprocess, a package uses Shared or Start, not
// both: a process has one control plane at a time.
func Shared(t testing.TB) *ControlPlane {
	t.Helper()
	if sharedControlPlane == nil {
		t.Fatal(`ctrlplanetest: Shared needs a TestMain that calls Main: add "func TestMain(m *testing.M) { ctrlplanetest.Main(m) }"`)
	}
	p, err := sharedControlPlane.get()
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	return p
}

func (s *lazyControlPlane) get() (*ControlPlane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.started {
		// Not bounded by the first test's context: other tests need it, too.
		s.controlPlane, s.err = startControlPlane(context.Background(), s.options)
		s.started = !errors.Is(s.err, ErrBusy) // that of a test, which ends
	}
	return s.controlPlane, s.err
}

// close stops the control plane if it was started. Later calls of get fail.
func (s *lazyControlPlane) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.controlPlane
	s.started, s.controlPlane, s.err = true, nil, errors.New("the tests have ended")
	if p == nil {
		return nil
	}
	return p.close()
}
