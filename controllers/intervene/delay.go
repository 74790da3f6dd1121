package intervene

import (
	"context"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/observe"
)

// validateDelay returns a usage error for a delay that delays nothing.
func validateDelay(d time.Duration) error {
	if d <= 0 {
		return usage.Errorf("delay %v: choose a longer one, or clear the delay", d)
	}
	return nil
}

// SetDelay delays each call from now on. It does not change calls that wait already.
func (g *Gate) SetDelay(d time.Duration) error {
	return g.setCallEffects(func(i *observe.Interventions) { i.Delay = d })
}

// applyDelay waits as long as calls are delayed.
func (g *Gate) applyDelay(ctx context.Context) error {
	for _, p := range g.path {
		if err := p.applyOwnDelay(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (g *Gate) applyOwnDelay(ctx context.Context) error {
	if !g.affectsCalls.Load() {
		return nil
	}
	g.mu.Lock()
	delay, cleared := g.current.Delay, g.callEffectsCleared
	g.mu.Unlock()
	if delay == 0 {
		return nil
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-cleared:
	case <-ctx.Done():
	}
	return ctx.Err()
}
