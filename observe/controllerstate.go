package observe

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The states of a controller, as Controller.State and ControllerChanged.State have them. One that is
// being started is building. That of an operator is unknown if its process has closed its connection
// without a last report.
const (
	StateOff      = "off"
	StateBuilding = "building"
	StateRunning  = "running"
	StatePaused   = "paused"
	StateStopping = "stopping"
	StateFailed   = "failed"
	StateUnknown  = "unknown"
)

// ReasonEnded is in the reason of a controller of an operator that is off because its process has sent its last report.
const ReasonEnded = "its process has ended"

// ReasonSilent is in the reason of a controller of an operator that is off because its process has not reported for
// some time: it has ended, or is suspended, as by a debugger.
const ReasonSilent = "its process does not report any more"

// IsSilent reports whether it is a controller of an operator whose process may be suspended instead of ended.
func (c *Controller) IsSilent() bool { return c.HasEnded() && strings.Contains(c.Reason, ReasonSilent) }

// HasIntervention reports whether a person or a test has changed what the controller does.
func (c *Controller) HasIntervention() bool {
	return c.State == StatePaused || c.State == StateRunning && c.Reason != "" || c.State == StateOff && c.Reason == ReasonStopped
}

// The reason of a controller or client lists the interventions, joined with ", ": snapshots and recordings have nothing
// else of them. A pause comes first, another number of workers last.

// WritesHeld is in the reason of a controller or client that is paused.
const WritesHeld = "its writes are held"

// EachCallWaits begins what the reason of a controller or client says of a delay.
const EachCallWaits = "each call waits"

// ScaledReason is in the reason of a controller that has another number of workers than configured.
func ScaledReason(workers, configured int) string {
	noun := "workers"
	if workers == 1 {
		noun = "worker"
	}
	return fmt.Sprintf("%d %s in place of %d", workers, noun, configured)
}

var scaledReason = regexp.MustCompile(`(?:^|, )\d+ workers? in place of (\d+)$`)

// CutWritesHeld returns what a reason says beside [WritesHeld], and whether it says that.
func CutWritesHeld(reason string) (rest string, held bool) {
	if first, rest, _ := strings.Cut(reason, ", "); first == WritesHeld {
		return rest, true
	}
	return reason, false
}

// CutScaled returns what a reason says beside [ScaledReason], and the configured number of workers; 0 if it does not say that.
func CutScaled(reason string) (rest string, configured int) {
	found := scaledReason.FindStringSubmatchIndex(reason)
	if found == nil {
		return reason, 0
	}
	configured, _ = strconv.Atoi(reason[found[2]:found[3]])
	return reason[:found[0]], configured
}

// HasIntervention reports whether a person or a test has changed what the client may do.
func (c *Client) HasIntervention() bool { return c.State == StatePaused || c.Reason != "" }

// PausedOrDelayed says with the reason that the client is paused or delayed, so that its program may give up writes before
// they are performed; empty if it is neither.
func (c *Client) PausedOrDelayed() string {
	switch {
	case c.State == StatePaused:
		return "paused: " + c.Reason
	case strings.Contains(c.Reason, EachCallWaits):
		return "delayed: " + c.Reason
	}
	return ""
}

// ControllerStates returns all states of a controller.
func ControllerStates() []string {
	return []string{StateRunning, StatePaused, StateOff, StateBuilding, StateStopping, StateFailed, StateUnknown}
}
