package controllers

import "github.com/ctrlplane/ctrlplane/observe"

// State is the state of a controller.
type State string

// A controller goes from off to building, running and stopping, and back to off.
// It has failed if it could not be built or has ended without being stopped.
const (
	Off      State = observe.StateOff
	Building State = observe.StateBuilding
	Running  State = observe.StateRunning
	Stopping State = observe.StateStopping
	Failed   State = observe.StateFailed
)

// isRunning reports whether the controller runs, paused or not.
func (s State) isRunning() bool { return s == Running || s == Paused }

// Status is a copy of the status of one controller.
type Status struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	State   State    `json:"state"`
	// Reason says why it is off or has failed, or which interventions are set.
	Reason string `json:"reason,omitempty"`
	// Interventions are what the reason says of them.
	Interventions observe.Interventions `json:"interventions,omitzero"`
}
