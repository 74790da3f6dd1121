package settled

import (
	"context"
	"fmt"
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// startHorizon is how soon a timer must be due to keep a start from being settled.
const startHorizon = time.Second

// WaitForStart returns when what a control plane does for its own start has settled. If that
// takes longer than limit, the error is a [*BusyError]; if ctx ends, it is the cause of that.
func WaitForStart(ctx context.Context, src Source, limit time.Duration) error {
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("timed out after %v", limit))
	defer cancel()
	err := Wait(limited, startingPlane{src}, startHorizon, nil)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// startingPlane lets a control plane settle that is not ready because its start has not ended,
// or that has nothing to do for its start because it is on standby.
type startingPlane struct{ Source }

func (p startingPlane) Snapshot(ctx context.Context) (observe.Snapshot, error) {
	s, err := p.Source.Snapshot(ctx)
	if s.Process.State == observe.Starting {
		s.Process.State = observe.Ready
	}
	s.Process.Leader = ""
	return s, err
}
