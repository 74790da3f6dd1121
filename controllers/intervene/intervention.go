package intervene

import (
	"context"

	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/verbs"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Interventions returns what is set on the gate.
func (g *Gate) Interventions() observe.Interventions {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.current
}

// Apply sets what another gate had on a gate that no call has passed yet.
func (g *Gate) Apply(i observe.Interventions) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current = i
	g.affectsCalls.Store(i.AffectCalls())
}

// IsActive reports whether an intervention is set.
func (g *Gate) IsActive() bool { return g.Interventions() != (observe.Interventions{}) }

// ValidateChange returns a usage error for a change that Gate.Change cannot make. checkResource
// refuses a resource that the API server does not serve; it may be nil.
func ValidateChange(c verbs.Change, checkResource func(string) error) error {
	switch c.Verb {
	case verbs.Pause, verbs.Resume, verbs.Clear:
		return nil
	case verbs.Delay:
		return validateDelay(c.Delay)
	case verbs.Fail:
		if err := ValidateFault(c.Fault); err != nil || checkResource == nil {
			return err
		}
		return checkResource(c.Fault.Resource)
	}
	return errNotOfGate(c)
}

// Change changes the gate, and reports whether the verb applied: only what is set can be removed.
func (g *Gate) Change(ctx context.Context, c verbs.Change) (applied bool, err error) {
	switch c.Verb {
	case verbs.Pause:
		return true, g.Pause(ctx)
	case verbs.Resume:
		return g.Resume(), nil
	case verbs.Delay:
		return true, g.SetDelay(c.Delay)
	case verbs.Fail:
		return true, g.SetFault(c.Fault)
	case verbs.Clear:
		return g.ClearCallEffects(), nil
	}
	return false, errNotOfGate(c)
}

func errNotOfGate(c verbs.Change) error {
	return usage.Errorf("verb %q does not apply to API calls: choose pause, resume, delay, fail or clear", c.Verb)
}
