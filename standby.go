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
	control.Intervener
	check func() error
}

// Change implements control.Intervener.
func (l leaderInterventions) Change(ctx context.Context, names []string, c control.Change) ([]string, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.Intervener.Change(ctx, names, c)
}

// StepWithin implements control.Intervener.
func (l leaderInterventions) StepWithin(ctx context.Context, name string, wait time.Duration) (*control.SteppedWrite, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return l.Intervener.StepWithin(ctx, name, wait)
}
