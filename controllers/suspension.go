package controllers

import (
	"context"
	"fmt"
)

// suspension is a time during which controllers stop and start again, with other gates that have the same
// interventions.
type suspension struct {
	reason string
	ended  chan struct{}
}

const ( // reasons
	restoring  = "a snapshot is being restored"
	restarting = "controllers are being restarted"
)

// beginSuspension comes before the interventions are read: a change that is made later waits or is made again. The
// caller holds the lock, and calls end.
func (s *Supervisor) beginSuspension(reason string) (end func()) {
	current := &suspension{reason: reason, ended: make(chan struct{})}
	s.suspension.Store(current)
	return func() { close(current.ended) }
}

// waitResumed waits while the controllers are suspended. It returns the last suspension, nil if there was none.
func (s *Supervisor) waitResumed(ctx context.Context) (*suspension, error) {
	last := s.suspension.Load()
	if last == nil {
		return nil, nil
	}
	select {
	case <-last.ended:
		return last, nil
	default:
	}
	select {
	case <-last.ended:
		return last, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: %w", last.reason, context.Cause(ctx))
	}
}

// whileResumed makes a change of gates while the controllers are not suspended. A change during which they are suspended
// is made again: the gates are replaced, and whether the new ones have it is not known.
func (s *Supervisor) whileResumed(ctx context.Context, change func() error) error {
	for {
		before, err := s.waitResumed(ctx)
		if err != nil {
			return err
		}
		if err := change(); s.suspension.Load() == before {
			return err
		}
	}
}
