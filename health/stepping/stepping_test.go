package stepping

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/health/settled"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// fakeControlPlane is a control plane whose job-controller has held writes.
type fakeControlPlane struct {
	control.Interventions
	held      int
	running   bool
	later     []int // further held writes at each snapshot
	stuck     bool  // another controller is always busy
	paused    bool  // and is paused
	snapshots int
}

func (p *fakeControlPlane) HeldWrites(context.Context, string, int) (control.HeldWriteList, error) {
	return control.HeldWriteList{Controller: "job-controller", Paused: !p.running, Total: p.held}, nil
}

func (p *fakeControlPlane) Step(context.Context, string) (*control.SteppedWrite, error) {
	p.held--
	return &control.SteppedWrite{Status: 200}, nil
}

func (p *fakeControlPlane) Snapshot(context.Context) (observe.Snapshot, error) {
	p.snapshots++
	s := observe.Snapshot{Process: observe.Process{State: observe.Ready, Settled: true}}
	if len(p.later) > 0 {
		p.held, p.later = p.held+p.later[0], p.later[1:]
		s.Queues = append(s.Queues, observe.Queue{Controller: "job-controller", Name: "job", InFlight: 1})
	}
	if p.stuck {
		s.Queues = append(s.Queues, observe.Queue{Controller: "namespace-controller", Name: "namespace", InFlight: 1})
	}
	if p.paused {
		s.Controllers = append(s.Controllers, observe.Controller{Name: "namespace-controller", State: "paused"})
	}
	return s, nil
}

func stepUntilSettled(t *testing.T, ctx context.Context, p *fakeControlPlane) (steps int, err error) {
	t.Helper()
	err = UntilSettled(ctx, p, p, "job", func(*control.SteppedWrite) error { steps++; return nil })
	return steps, err
}

func TestStepsEveryHeldWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &fakeControlPlane{held: 3, later: []int{0, 2, 0, 0, 1}, stuck: true, paused: true}
		steps, err := stepUntilSettled(t, t.Context(), p)
		if err != nil || steps != 6 || p.held != 0 {
			t.Errorf("%d steps, %d left: %v", steps, p.held, err)
		}
		if want := 5 + requiredChecks; p.snapshots != want {
			t.Errorf("%d checks, want %d", p.snapshots, want)
		}
	})
}

func TestWaitsForOtherControllers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timeout := errors.New("timed out after 1s")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, timeout)
		defer cancel()
		steps, err := stepUntilSettled(t, ctx, &fakeControlPlane{held: 1, stuck: true})
		busy, ok := errors.AsType[*settled.BusyError](err)
		if !ok || !errors.Is(err, timeout) || steps != 1 {
			t.Fatalf("%d steps, %v", steps, err)
		}
		if len(busy.Work) != 1 || busy.Work[0].Where != "namespace-controller" {
			t.Errorf("remaining work: %v", busy.Work)
		}
	})
}

func TestRefusesControllerThatIsNotPaused(t *testing.T) {
	_, err := stepUntilSettled(t, t.Context(), &fakeControlPlane{held: 1, running: true})
	if !errors.As(err, new(usage.Error)) || err.Error() != "controller job-controller is not paused: pause it first" {
		t.Errorf("got %v", err)
	}
}

func TestStopsOnCallbackErrorAndCancel(t *testing.T) {
	full := errors.New("the disk is full")
	err := UntilSettled(t.Context(), &fakeControlPlane{held: 2}, &fakeControlPlane{}, "job", func(*control.SteppedWrite) error { return full })
	if diff := cmp.Diff(full.Error(), err.Error()); diff != "" {
		t.Error(diff)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if _, err := stepUntilSettled(t, ctx, &fakeControlPlane{stuck: true}); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}
