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
	refused   bool // a restore refuses the held writes before they are stepped
	running   bool
	later     []int         // further held writes at each snapshot
	stuck     bool          // another controller is always busy
	paused    bool          // and is paused
	writes    time.Duration // another client writes that often; 0 = never
	snapshots int
}

func (p *fakeControlPlane) HeldWrites(context.Context, string, int) (control.HeldWriteList, error) {
	return control.HeldWriteList{Controller: "job-controller", Paused: !p.running, Total: p.held}, nil
}

func (p *fakeControlPlane) Step(ctx context.Context, name string) (*control.SteppedWrite, error) {
	if s, err := p.StepHeld(ctx, name); s != nil || err != nil {
		return s, err
	}
	time.Sleep(control.StepTimeout)
	return nil, nil
}

func (p *fakeControlPlane) StepHeld(context.Context, string) (*control.SteppedWrite, error) {
	if p.refused {
		p.held, p.refused = 0, false
	}
	if p.held == 0 {
		return nil, nil
	}
	p.held--
	return &control.SteppedWrite{Status: 200}, nil
}

func (p *fakeControlPlane) Snapshot(context.Context) (observe.Snapshot, error) {
	p.snapshots++
	s := observe.Snapshot{Time: time.Now(), Process: observe.Process{State: observe.Ready, Settled: true, Quiet: true}}
	if p.writes > 0 {
		s.Process.LastActivity = s.Time.Truncate(p.writes)
	}
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

// operatorPlane is a control plane with an operator that reports two controllers, one of
// which waits for a write to be answered.
type operatorPlane struct {
	fakeControlPlane
	client, controller string // states
	steps              string // the name of what is stepped
}

func (p *operatorPlane) HeldWrites(context.Context, string, int) (control.HeldWriteList, error) {
	return control.HeldWriteList{Controller: p.steps, Paused: true, Total: p.held}, nil
}

func (p *operatorPlane) Snapshot(context.Context) (observe.Snapshot, error) {
	return observe.Snapshot{
		Time:        time.Now(),
		Process:     observe.Process{State: observe.Ready, Settled: true, Quiet: true},
		Queues:      []observe.Queue{{Controller: "operator/site", Name: "site", InFlight: 1}},
		Controllers: []observe.Controller{{Name: "operator/site", State: p.controller}, {Name: "operator/page", State: "paused"}},
		Clients:     []observe.Client{{Name: "operator (admin)", State: p.client, Writing: 1, Held: 1, Controllers: []string{"operator/page", "operator/site"}}},
	}, nil
}

// What a paused operator or its paused controllers still have to do is no work of the one
// that is stepped, whichever of the two is paused.
func TestNestedPauses(t *testing.T) {
	for name, test := range map[string]struct {
		plane operatorPlane
		ends  bool
	}{
		"another one, while the operator is paused":          {operatorPlane{steps: "job-controller", client: "paused", controller: "running"}, true},
		"another one, while its controller is paused":        {operatorPlane{steps: "job-controller", client: "running", controller: "paused"}, true},
		"another controller of the paused operator":          {operatorPlane{steps: "operator/page", client: "paused", controller: "running"}, true},
		"the operator, which has a sync":                     {operatorPlane{steps: "operator (admin)", client: "paused", controller: "running"}, false},
		"the operator, whose paused controller has a sync":   {operatorPlane{steps: "operator (admin)", client: "paused", controller: "paused"}, false},
		"the paused controller, which has a sync":            {operatorPlane{steps: "operator/site", client: "paused", controller: "paused"}, false},
		"another one, while neither is paused and one works": {operatorPlane{steps: "job-controller", client: "running", controller: "running"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("timed out"))
				defer cancel()
				err := UntilSettled(ctx, &test.plane, &test.plane, test.plane.steps, func(*control.SteppedWrite) error { return nil })
				if test.ends != (err == nil) {
					t.Error(err)
				}
			})
		})
	}
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

// What a program does that writes now and then does not count as work of the controller, also while another one is
// paused. One that goes on after a moment has no work at each check that finds it waiting.
func TestProgramThatWritesAllTheTime(t *testing.T) {
	for every, ends := range map[time.Duration]bool{15 * time.Millisecond: false, 80 * time.Millisecond: true} {
		for _, paused := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				p := &fakeControlPlane{held: 1, writes: every, stuck: paused, paused: paused}
				if steps, err := stepUntilSettled(t, ctx, p); steps != 1 || ends != (err == nil) {
					t.Errorf("a write every %v, another one paused %v: %d steps, %v", every, paused, steps, err)
				}
			})
		}
	}
}

// A write that is not held any more when it is to be stepped, and is not repeated, ends no step late.
func TestHeldWriteIsRefusedBeforeItsStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		steps, err := stepUntilSettled(t, t.Context(), &fakeControlPlane{held: 2, refused: true, stuck: true, paused: true})
		if err != nil || steps != 0 {
			t.Errorf("%d steps: %v", steps, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
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

func TestDeadlineBeforeTheFirstCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 0, errors.New("late"))
		defer cancel()
		if _, err := stepUntilSettled(t, ctx, &fakeControlPlane{}); err == nil || err.Error() != "not settled: control plane: late" {
			t.Errorf("got %v", err)
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
