package ctrlplane

import (
	"context"
	"errors"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
)

// leader returns which process runs the controllers, and its identity; empty without leader
// election.
func (p *controlPlane) leader() (leader observe.Leader, holder string) { return p.leadership.leader() }

// standbyReason says why the controllers do not run in this process; empty if they do.
func (p *controlPlane) standbyReason() string { return p.leadership.standbyReason() }

// checkLeader fails in a process that is on standby, where changes of controllers and
// simulated nodes would have no effect.
func (p *controlPlane) checkLeader() error { return p.leadership.checkLeader() }

func (l *leadership) standbyReason() string {
	leader, holder := l.leader()
	return observe.Process{Leader: leader, LeaseHolder: holder}.StandbyReason()
}

func (l *leadership) checkLeader() error {
	if reason := l.standbyReason(); reason != "" {
		return errors.New("this control plane is " + reason + ": use that of the leader")
	}
	return nil
}

// leaderInterventions are the interventions in controllers that run in the leader only.
type leaderInterventions struct {
	control.Interventions
	check func() error
}

// Stop implements control.Interventions.
func (l leaderInterventions) Stop(ctx context.Context, names []string) ([]string, error) {
	return l.change(ctx, control.Interventions.Stop, names)
}

// Start implements control.Interventions.
func (l leaderInterventions) Start(ctx context.Context, names []string) ([]string, error) {
	return l.change(ctx, control.Interventions.Start, names)
}

// Pause implements control.Interventions.
func (l leaderInterventions) Pause(ctx context.Context, names []string) ([]string, error) {
	return l.change(ctx, control.Interventions.Pause, names)
}

// Resume implements control.Interventions.
func (l leaderInterventions) Resume(ctx context.Context, names []string) ([]string, error) {
	return l.change(ctx, control.Interventions.Resume, names)
}

// Clear implements control.Interventions.
func (l leaderInterventions) Clear(ctx context.Context, names []string) ([]string, error) {
	return l.change(ctx, control.Interventions.Clear, names)
}

// Step implements control.Interventions.
func (l leaderInterventions) Step(ctx context.Context, name string) (*control.SteppedWrite, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.Interventions.Step(ctx, name)
}

// StepHeld implements control.Interventions.
func (l leaderInterventions) StepHeld(ctx context.Context, name string) (*control.SteppedWrite, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.Interventions.StepHeld(ctx, name)
}

// Delay implements control.Interventions.
func (l leaderInterventions) Delay(ctx context.Context, names []string, d time.Duration) ([]string, error) {
	return l.change(ctx, func(i control.Interventions, ctx context.Context, names []string) ([]string, error) {
		return i.Delay(ctx, names, d)
	}, names)
}

// Fail implements control.Interventions.
func (l leaderInterventions) Fail(ctx context.Context, names []string, f control.Fault) ([]string, error) {
	return l.change(ctx, func(i control.Interventions, ctx context.Context, names []string) ([]string, error) {
		return i.Fail(ctx, names, f)
	}, names)
}

// Scale implements control.Interventions.
func (l leaderInterventions) Scale(ctx context.Context, names []string, workers int) ([]string, error) {
	return l.change(ctx, func(i control.Interventions, ctx context.Context, names []string) ([]string, error) {
		return i.Scale(ctx, names, workers)
	}, names)
}

func (l leaderInterventions) change(ctx context.Context, verb func(control.Interventions, context.Context, []string) ([]string, error), names []string) ([]string, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return verb(l.Interventions, ctx, names)
}
