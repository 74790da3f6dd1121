package control

import (
	"context"
	"errors"
	"time"
)

// Errors that pass by themselves.
var (
	ErrRestoreRunning = errors.New("another restore is running: wait until it ends")
	ErrNotReady       = errors.New("the control plane is starting: try again in a moment")
)

// ObjectCounts are the numbers of objects that a restore has changed.
type ObjectCounts struct {
	Created  int `json:"created"`
	Updated  int `json:"updated"`
	Deleted  int `json:"deleted"`
	Replaced int `json:"replaced"` // deleted and created: another object had the name
}

// Total returns the number of all objects that were changed.
func (c ObjectCounts) Total() int { return c.Created + c.Updated + c.Deleted + c.Replaced }

// RestoreResult is what a restore has done.
type RestoreResult struct {
	ObjectCounts
	// Revision is the revision of the store after the restore.
	Revision int64 `json:"revision"`
	// Took is the duration of the restore, WritesBlocked the part of it in which
	// writes were blocked.
	Took          time.Duration `json:"took"`
	WritesBlocked time.Duration `json:"held"`
}

// Snapshots save and restore the state of a control plane.
//
// A restore happens in place: watches receive what changes, and revisions
// continue. Controllers, scheduler and simulated nodes are stopped before it, and
// started again when the informers have received all changes. Writes of other
// clients that arrive during a restore fail with a conflict.
//
// Methods return ErrNotReady until the start is over, and Restore and Reset ErrRestoreRunning while another restore is
// running. A client of package control/rest waits up to 10 s for the end of the start; apierrors.IsConflict recognizes
// another restore.
type Snapshots interface {
	// Save returns the state as a snapshot file.
	Save(context.Context) ([]byte, error)
	// Restore changes nothing, and returns an error, if the file is damaged, from a
	// newer program or from another release of Kubernetes. Once it changes the state
	// it completes, even if ctx ends.
	Restore(ctx context.Context, file []byte) (RestoreResult, error)
	// Reset restores the state right after the start: that before the first change from outside
	// of the process, or that when the controllers had done their first work, whichever was
	// earlier, but at most 10 s after the start.
	Reset(context.Context) (RestoreResult, error)
}
