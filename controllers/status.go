package controllers

// State is where a controller is in its life.
type State string

// A controller's life: off → building → running → stopping → off. Failed is
// for one that could not be built or ended by itself.
const (
	Off      State = "off"
	Building State = "building"
	Running  State = "running"
	Stopping State = "stopping"
	Failed   State = "failed"
)

// Status is a copy of what is known of one controller.
type Status struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	State   State    `json:"state"`
	// Reason says why it is off or has failed.
	Reason string `json:"reason,omitempty"`
}
