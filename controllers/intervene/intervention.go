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

// Settings are what is set on a gate.
type Settings struct {
	paused bool
	delay  time.Duration
	fault  control.Fault
}

// affectsCalls reports whether calls are delayed or may fail.
func (s Settings) affectsCalls() bool { return s.delay > 0 || s.fault.Rate > 0 }

func (s Settings) isActive() bool { return s != Settings{} }

func (s Settings) describe() string {
	var parts []string
	if s.paused {
		parts = append(parts, observe.WritesHeld)
	}
	if s.delay > 0 {
		parts = append(parts, fmt.Sprintf("%s %v", observe.EachCallWaits, s.delay))
	}
	if s.fault.Rate > 0 {
		parts = append(parts, DescribeFault(s.fault))
	}
	return strings.Join(parts, ", ")
}

// DescribeFault says in a few words what a fault does to a controller or client.
func DescribeFault(f control.Fault) string {
	calls := strings.Join(slices.DeleteFunc([]string{f.Verb, f.Resource, "calls"}, func(s string) bool { return s == "" }), " ")
	return fmt.Sprintf("%.3g%% of its %s fail: %s", 100*f.Rate, calls, f.Code)
}

// Settings returns what is set on the gate.
func (g *Gate) Settings() Settings {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.current
}

// Apply sets what another gate had on a gate that no call has passed yet.
func (g *Gate) Apply(s Settings) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current = s
	g.affectsCalls.Store(s.affectsCalls())
}

// Describe returns in a few words what is set on the gate, and whether it is paused.
func (g *Gate) Describe() (text string, paused bool) {
	s := g.Settings()
	return s.describe(), s.paused
}

// IsActive reports whether an intervention is set.
func (g *Gate) IsActive() bool { return g.Settings().isActive() }

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
