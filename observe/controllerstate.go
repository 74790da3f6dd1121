package observe

import "strings"

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

// ControllerStates returns all states of a controller.
func ControllerStates() []string {
	return []string{StateRunning, StatePaused, StateOff, StateBuilding, StateStopping, StateFailed, StateUnknown}
}
