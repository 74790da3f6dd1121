package control

import (
	"time"

	"github.com/ctrlplane/ctrlplane/observe"
)

// UnhealthyObject is an object that waits for something that need not come by itself: a Namespace that is
// being deleted, a Deployment whose rollout has exceeded its deadline, an APIService that is not available, or one of those that
// the problems of a snapshot name.
type UnhealthyObject struct {
	Object observe.Object `json:"object"`
	Owner  observe.Object `json:"owner,omitzero"` // that controls it, if one of the problems of a snapshot names it
	State  string         `json:"state"`          // Terminating, Failed or InProgress
	Since  time.Time      `json:"since,omitzero"` // when its deletion was requested, or since when it is not available
	Reason string         `json:"reason"`
}

// UnhealthyList is a list of such objects.
type UnhealthyList struct {
	Items []UnhealthyObject `json:"items"`
}
