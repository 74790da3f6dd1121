package control

import (
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// UnhealthyObject is an object that waits for something that need not come by itself: a Namespace that is
// being deleted, or a Deployment whose rollout has exceeded its deadline.
type UnhealthyObject struct {
	Object observe.Object `json:"object"`
	State  string         `json:"state"`          // Terminating or Failed
	Since  time.Time      `json:"since,omitzero"` // when its deletion was requested
	Reason string         `json:"reason"`
}

// UnhealthyList is a list of such objects.
type UnhealthyList struct {
	Items []UnhealthyObject `json:"items"`
}
