package intervene

import (
	"context"
	"fmt"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/parallel"
	"github.com/ctrlplane/ctrlplane/internal/usage"
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
func ValidateChange(c control.Change, checkResource func(string) error) error {
	switch c.Verb {
	case control.Pause, control.Resume, control.Clear:
		return nil
	case control.Delay:
		return validateDelay(c.Delay)
	case control.Fail:
		if err := ValidateFault(c.Fault); err != nil || checkResource == nil {
			return err
		}
		return checkResource(c.Fault.Resource)
	}
	return errNotOfGate(c)
}

// Change changes the gate, and reports whether the verb applied: only what is set can be removed.
func (g *Gate) Change(ctx context.Context, c control.Change) (applied bool, err error) {
	switch c.Verb {
	case control.Pause:
		return true, g.Pause(ctx)
	case control.Resume:
		return g.Resume(), nil
	case control.Delay:
		return true, g.SetDelay(c.Delay)
	case control.Fail:
		return true, g.SetFault(c.Fault)
	case control.Clear:
		return g.ClearCallEffects(), nil
	}
	return false, errNotOfGate(c)
}

func errNotOfGate(c control.Change) error {
	return usage.Errorf("verb %q does not apply to API calls: choose pause, resume, delay, fail or clear", c.Verb)
}

func (g *Gate) setCallEffects(set func(*observe.Interventions)) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.final != nil {
		return g.final
	}
	set(&g.current)
	g.affectsCalls.Store(g.current.AffectCalls())
	return nil
}

// ClearCallEffects removes the delay and the fault, and reports whether there was
// one. Delayed calls proceed at once.
func (g *Gate) ClearCallEffects() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current.Delay, g.current.Fault = 0, control.Fault{}
	close(g.callEffectsCleared)
	g.callEffectsCleared = make(chan struct{})
	return g.affectsCalls.Swap(false)
}

// ChangeEach changes controllers or clients in parallel, and returns the names of those that have changed. The errors
// begin with the noun and the name.
func ChangeEach[T any](noun string, list []T, name func(T) string, change func(T) (bool, error)) (changed []string, err error) {
	done := make([]bool, len(list))
	err = parallel.For(len(list), func(n int) (err error) {
		if done[n], err = change(list[n]); err != nil {
			return fmt.Errorf("%s %s: %w", noun, name(list[n]), err)
		}
		return nil
	})
	for n, of := range list {
		if done[n] {
			changed = append(changed, name(of))
		}
	}
	return changed, err
}
