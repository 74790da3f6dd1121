package control

import "github.com/ctrlplane/ctrlplane/observe"

// Controller is the status of one controller.
type Controller struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// State is off, building, running, paused, stopping or failed; unknown if the process of an
	// operator has closed its connection without a last report.
	State string `json:"state"`
	// Reason says why it is off or has failed, or which interventions are set.
	Reason string `json:"reason,omitempty"`
	// Process is the state of an operator's controller without its pause, unless it is running.
	Process string `json:"process,omitempty"`
	// Interventions are what the reason says of them.
	Interventions observe.Interventions `json:"interventions,omitzero"`
	// Gone says how the process of an operator's controller has ended.
	Gone observe.Gone `json:"gone,omitempty"`

	// Workers is the number of workers of each of its queues, where it is known.
	Workers map[string]int `json:"workers,omitempty"`
	// Held is the number of its held writes.
	Held int `json:"held,omitempty"`
	// Failing are the keys whose last sync failed, newest first, at most 10; MoreFailing is the
	// number of those that are left out.
	Failing     []observe.FailingKey `json:"failing,omitempty"`
	MoreFailing int                  `json:"moreFailing,omitempty"`
	// Unlisted says why a kind that it needs cannot be listed; until it can, the controller does nothing.
	Unlisted string `json:"unlisted,omitempty"`
	Work
}

// Work is the work that a controller has to do and has done. The numbers of its
// queues have the names of the workqueue_* metrics; one that is off has no queues.
type Work struct {
	Depth        int64 `json:"depth"`        // keys that are queued, without parked ones
	InFlight     int64 `json:"inFlight"`     // keys that are being processed
	Retries      int64 `json:"retries"`      // keys that were added again, also as planned
	ErrorRetries int64 `json:"errorRetries"` // those that followed a failed sync
	Syncs        int64 `json:"syncs"`
	Failures     int64 `json:"failures"` // syncs that failed
	Writes       int64 `json:"writes"`   // calls
	Errors       int64 `json:"errors"`   // calls that failed, without conflicts
	Conflicts    int64 `json:"conflicts"`
}

// ControllerList is a list of controllers.
type ControllerList struct {
	Items []Controller `json:"items"`
}
