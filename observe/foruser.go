package observe

import "context"

// Own is the name under which records and snapshots have what ctrlplane itself does.
const Own = "ctrlplane"

type forUserKey struct{}

// ForUser returns a context for API calls that a user of ctrlplane has asked for, as with "ctrlplane
// nodes fail": whichever component makes them, they follow from nothing in the control plane.
func ForUser(ctx context.Context) context.Context {
	return context.WithValue(ctx, forUserKey{}, true)
}

// IsForUser reports whether ctx is one of ForUser.
func IsForUser(ctx context.Context) bool { return ctx.Value(forUserKey{}) != nil }
