package ctrlplanetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
)

// sharer starts a control plane for whoever asks first.
type sharer struct {
	options Options
	mu      sync.Mutex
	asked   bool
	plane   *Plane // nil if it did not start
	err     error  // why
}

// shared is the process' one: TestMain and its tests have nothing else in common.
// It is set by Main, before any test runs.
var shared *sharer

// Main is all that a TestMain needs: it runs the tests and exits with their code.
// Their control plane starts when the first of them calls Shared, and is stopped
// after the last. At most one Options may be given.
func Main(m *testing.M, opts ...Options) { os.Exit(Run(m, opts...)) }

// Run is Main for a TestMain that has more to do before it exits with the code.
func Run(m *testing.M, opts ...Options) int {
	code, err := run(m.Run, opts)
	if err != nil {
		fmt.Fprintf(os.Stderr, "ctrlplanetest: %v\n", err)
	}
	return code
}

func run(tests func() int, opts []Options) (code int, err error) {
	o, err := one(opts)
	if err != nil {
		return 2, err
	}
	shared = &sharer{options: o}
	code = tests()
	if err := shared.close(); err != nil {
		return max(code, 1), err
	}
	return code, nil
}

// Shared returns the control plane that the tests of this process share. TestMain
// must call Main.
func Shared(t testing.TB) *Plane {
	t.Helper()
	if shared == nil {
		t.Fatal(`ctrlplanetest: Shared needs to know when the tests are over: add "func TestMain(m *testing.M) { ctrlplanetest.Main(m) }"`)
	}
	p, err := shared.get()
	if err != nil {
		t.Fatalf("ctrlplanetest: %v", err)
	}
	return p
}

func (s *sharer) get() (*Plane, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.asked {
		s.asked = true
		// Not bounded by a test: the others would not get it if that one ended.
		s.plane, s.err = open(context.Background(), s.options)
	}
	return s.plane, s.err
}

// close ends what was started; from then on there is nothing to be had.
func (s *sharer) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.plane
	s.asked, s.plane, s.err = true, nil, errors.New("the tests are over")
	if p == nil {
		return nil
	}
	return p.close()
}
