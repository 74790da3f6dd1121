package controllers

import (
	"context"
	"fmt"
)

// suspension is the time between Suspend and the end of resume, during which a snapshot is restored.
type suspension struct{ ended chan struct{} }

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
		return nil, fmt.Errorf("a snapshot is being restored: %w", context.Cause(ctx))
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
