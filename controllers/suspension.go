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

// lockResumed takes the lock while the controllers are not suspended, for a change of which of them run. They
// are to be selected under the lock: a restore that has just begun turns all off. It fails if ctx has ended
// meanwhile: a canceled request changes nothing.
func (s *Supervisor) lockResumed(ctx context.Context) (unlock func(), err error) {
	if _, err := s.waitResumed(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	if ctx.Err() != nil {
		defer s.mu.Unlock()
		return nil, fmt.Errorf("nothing was changed: %w", context.Cause(ctx))
	}
	return s.mu.Unlock, nil
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
