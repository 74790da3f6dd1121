package control

import (
	"context"

	"github.com/ctrlplane/ctrlplane/observe"
)

// SpeedControl sets how fast controllers, the scheduler and the simulated kubelets work.
// The current speed is Process.Speed of a snapshot, and the syncs that wait because of it
// are its RunningSyncs with Waits set.
//
// A worker that has taken a key waits Speed.Delay before it works on the key: before the
// first API call or the first read of a cache. A simulated kubelet waits before each write
// for a Pod. The key counts as in flight meanwhile. Event handlers, informers, leases, node
// heartbeats, the API server's own controllers and clients are not slowed down.
type SpeedControl interface {
	// SetSpeed applies to keys that wait already, too. The speed lasts until the control
	// plane stops. It fails if nothing is observed.
	SetSpeed(ctx context.Context, s observe.Speed) error
	// StepKey releases the key that has waited longest with observe.SpeedStep, and returns
	// at once. The result is nil if no key waits within StepTimeout.
	StepKey(ctx context.Context) (*ReleasedKey, error)
}

// ReleasedKey is a key that StepKey has released.
type ReleasedKey struct {
	Controller string `json:"controller"`
	observe.RunningSync
}
