package ctrlplanetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// lazyControlPlane starts a control plane for whoever asks first.
type lazyControlPlane struct {
	options      Options
	mu           sync.Mutex
	started      bool
	controlPlane *ControlPlane // nil if it did not start
	err          error         // why
}

// sharedControlPlane is the process' one: TestMain and its tests have nothing else in common.
// It is set by Main, before any test runs.
var sharedControlPlane *lazyControlPlane

// Main is all that a TestMain needs: it runs the tests and exits with their code.
// Their control plane starts when the first of them calls Shared, and is stopped
// after the last. At most one Options may be given.
func Main(m *testing.M, opts ...Options) { os.Exit(Run(m, opts...)) }

// Run is Main for a TestMain that has more to do before it exits with the code.
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

// Shared returns the control plane that the tests of this process share. TestMain
// must call Main.
func Shared(t testing.TB) *ControlPlane {
	t.Helper()
	if sharedControlPlane == nil {
		t.Fatal(`ctrlplanetest: Shared needs to know when the tests are over: add "func TestMain(m *testing.M) { ctrlplanetest.Main(m) }"`)
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
		s.started = true
		// Not bounded by a test: the others would not get it if that one ended.
		s.controlPlane, s.err = startControlPlane(context.Background(), s.options)
	}
	return s.controlPlane, s.err
}

// close ends what was started; from then on there is nothing to be had.
func (s *lazyControlPlane) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.controlPlane
	s.started, s.controlPlane, s.err = true, nil, errors.New("the tests are over")
	if p == nil {
		return nil
	}
	return p.close()
}
