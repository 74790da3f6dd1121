package main

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
)

// steppedElsewhere are interventions in a controller of which another step has released a write that has no answer.
type steppedElsewhere struct {
	control.Interventions
	held      int
	suspended bool
}

func (s steppedElsewhere) HeldWrites(ctx context.Context, name string, _ int) (control.HeldWriteList, error) {
	if s.suspended {
		<-ctx.Done()
	}
	return control.HeldWriteList{Controller: name, Paused: true, Total: s.held}, ctx.Err()
}

func (s steppedElsewhere) Step(ctx context.Context, _ string) (*control.SteppedWrite, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// A step that releases nothing though writes are held says what it has waited for.
func TestStepWaitsForAnotherStep(t *testing.T) {
	for held, wants := range map[int]bool{0: false, 2: true} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		s := &stepCommand{name: "replicaset-controller", n: 1}
		err := s.stepWrites(ctx, steppedElsewhere{held: held}, io.Discard, nil)
		if err == nil || !strings.Contains(err.Error(), "0 of 1 write done") || wants != strings.Contains(err.Error(), "a write of replicaset-controller that was released before has no answer yet") {
			t.Errorf("with %d held: %v", held, err)
		}
	}
}

// resumedElsewhere are interventions in a controller that another client resumes while a step waits.
type resumedElsewhere struct {
	control.Interventions
	asked int
}

func (r *resumedElsewhere) HeldWrites(_ context.Context, name string, _ int) (control.HeldWriteList, error) {
	r.asked++
	return control.HeldWriteList{Controller: name, Paused: r.asked == 1}, nil
}

func (r *resumedElsewhere) Step(context.Context, string) (*control.SteppedWrite, error) {
	return nil, errors.New("controller replicaset-controller is not paused: pause it first")
}

// A step that ends because the controller was resumed does not ask for a pause first.
func TestStepOfAResumedController(t *testing.T) {
	s := &stepCommand{name: "replicaset-controller", n: 2}
	err := s.stepWrites(t.Context(), &resumedElsewhere{}, io.Discard, nil)
	if want := "replicaset-controller was resumed meanwhile: 0 of 2 writes done"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A step that times out because the control plane is suspended says so.
func TestStepOfASuspendedControlPlane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stepCommand{target: &target{name: "demo", named: func() bool { return true }}, name: "replicaset-controller", n: 1}
		for _, interrupt := range []bool{false, true} {
			ctx, cancel := context.WithTimeoutCause(t.Context(), 2*time.Second, errors.New("timed out after 2s"))
			if interrupt {
				cancel()
			}
			began := time.Now()
			err := s.stepWrites(ctx, steppedElsewhere{suspended: true}, io.Discard, nil)
			cancel()
			want := `timed out after 2s: 0 of 1 write done: the control plane is suspended or overloaded: see "ctrlplane --name demo logs"`
			if interrupt {
				want = "interrupted: 0 of 1 write done"
			}
			if err == nil || !strings.HasPrefix(strings.ReplaceAll(err.Error(), programWord(), "ctrlplane"), want) {
				t.Errorf("interrupted %v: %v", interrupt, err)
			}
			if took := time.Since(began); interrupt && took > time.Second {
				t.Errorf("after an interrupt it went on for %v", took)
			}
		}
	})
}
