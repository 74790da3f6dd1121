package observe

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

// ControllerStates returns all states of a controller.
func ControllerStates() []string {
	return []string{StateRunning, StatePaused, StateOff, StateBuilding, StateStopping, StateFailed, StateUnknown}
}
