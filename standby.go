package ctrlplane

import (
	"context"
	"errors"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/verbs"
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
	verbs.Methods
	own   control.Interventions
	check func() error
}

func newLeaderInterventions(own control.Interventions, check func() error) leaderInterventions {
	return leaderInterventions{func(ctx context.Context, names []string, c verbs.Change) ([]string, error) {
		if err := check(); err != nil {
			return nil, err
		}
		return c.Apply(ctx, own, names)
	}, own, check}
}

// Step implements control.Interventions.
func (l leaderInterventions) Step(ctx context.Context, name string) (*control.SteppedWrite, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.own.Step(ctx, name)
}

// StepHeld implements control.Interventions.
func (l leaderInterventions) StepHeld(ctx context.Context, name string) (*control.SteppedWrite, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.own.StepHeld(ctx, name)
}

// HeldWrites implements control.Interventions.
func (l leaderInterventions) HeldWrites(ctx context.Context, name string, limit int) (control.HeldWriteList, error) {
	return l.own.HeldWrites(ctx, name, limit)
}
