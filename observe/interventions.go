package observe

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Interventions are what a person or a test has set on a controller or client, apart from a stop, which is a state.
// Recordings of earlier versions lack them: they have the state and the reason only.
type Interventions struct {
	Paused bool          `json:"paused,omitempty"`     // writes are held
	Delay  time.Duration `json:"delayNanos,omitempty"` // of each call
	Fault  Fault         `json:"fault,omitzero"`
	// Workers and ConfiguredWorkers are set if they differ.
	Workers           int `json:"workers,omitempty"`
	ConfiguredWorkers int `json:"configuredWorkers,omitempty"`
}

// Fault is an error that is injected into calls of a controller or client.
type Fault struct {
	Rate float64 `json:"rate"`           // the share of calls that fail, more than 0 and at most 1
	Code string  `json:"code"`           // one of control.FaultCodes
	Verb string  `json:"verb,omitempty"` // of the calls, as in RBAC; empty = all
	// Resource is RESOURCE or RESOURCE.GROUP, for calls of its subresources, too, or with /SUBRESOURCE; empty = all.
	Resource string `json:"resource,omitempty"`
}

// WritesHeld is what the text of interventions begins with if writes are held.
const WritesHeld = "its writes are held"

// String returns the text that Reason has of the interventions.
func (i Interventions) String() string {
	var parts []string
	if i.Paused {
		parts = append(parts, WritesHeld)
	}
	if i.Delay > 0 {
		parts = append(parts, fmt.Sprintf("each call waits %v", i.Delay))
	}
	if i.Fault.Rate > 0 {
		parts = append(parts, i.Fault.String())
	}
	if i.Workers > 0 {
		parts = append(parts, fmt.Sprintf("%s in place of %d", words.Count(i.Workers, "worker"), i.ConfiguredWorkers))
	}
	return strings.Join(parts, ", ")
}

// String says in a few words what the fault does.
func (f Fault) String() string {
	calls := strings.Join(slices.DeleteFunc([]string{f.Verb, f.Resource, "calls"}, func(s string) bool { return s == "" }), " ")
	return fmt.Sprintf("%.3g%% of its %s fail: %s", 100*f.Rate, calls, f.Code)
}

// AffectCalls reports whether calls are delayed or may fail.
func (i Interventions) AffectCalls() bool { return i.Delay > 0 || i.Fault.Rate > 0 }

// RunningState returns the state of a controller or client that runs with the interventions.
func (i Interventions) RunningState() ControllerChanged {
	e := ControllerChanged{State: StateRunning, Reason: i.String(), Interventions: i}
	if i.Paused {
		e.State = StatePaused
	}
	return e
}

// HasIntervention reports whether a person or a test has changed what the controller does.
func (c *Controller) HasIntervention() bool {
	return c.State == StatePaused || c.State == StateRunning && c.Reason != "" || c.State == StateOff && c.Reason == ReasonStopped
}

// HasIntervention reports whether a person or a test has changed what the client may do.
func (c *Client) HasIntervention() bool { return c.State == StatePaused || c.Reason != "" }

// PausedOrDelayed says with the reason that the client is paused or delayed, so that its program may give up writes before
// they are performed; empty if it is neither.
func (c *Client) PausedOrDelayed() string {
	switch {
	case c.State == StatePaused:
		return "paused: " + c.Reason
	case c.Interventions.Delay > 0:
		return "delayed: " + c.Reason
	}
	return ""
}
