package intervene

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/internal/usage"
	"github.com/ctrlplane/ctrlplane/internal/verbs"
	"github.com/ctrlplane/ctrlplane/observe"
)

// Intervention is what is set on a gate.
type Intervention struct {
	paused bool
	delay  time.Duration
	fault  control.Fault
}

// affectsCalls reports whether calls are delayed or may fail.
func (i Intervention) affectsCalls() bool { return i.delay > 0 || i.fault.Rate > 0 }

func (i Intervention) isActive() bool { return i != Intervention{} }

func (i Intervention) describe() string {
	var parts []string
	if i.paused {
		parts = append(parts, observe.WritesHeld)
	}
	if i.delay > 0 {
		parts = append(parts, fmt.Sprintf("%s %v", observe.EachCallWaits, i.delay))
	}
	if f := i.fault; f.Rate > 0 {
		calls := strings.Join(slices.DeleteFunc([]string{f.Verb, f.Resource, "calls"}, func(s string) bool { return s == "" }), " ")
		parts = append(parts, fmt.Sprintf("%.3g%% of its %s fail: %s", 100*f.Rate, calls, f.Code))
	}
	return strings.Join(parts, ", ")
}

// Intervention returns what is set on the gate.
func (g *Gate) Intervention() Intervention {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.current
}

// Apply sets an intervention on a gate that no call has passed yet.
func (g *Gate) Apply(i Intervention) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current = i
	g.affectsCalls.Store(i.affectsCalls())
}

// Describe returns in a few words what is set on the gate, and whether it is paused.
func (g *Gate) Describe() (text string, paused bool) {
	i := g.Intervention()
	return i.describe(), i.paused
}

// IsActive reports whether an intervention is set.
func (g *Gate) IsActive() bool { return g.Intervention().isActive() }

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
