// Package sleep pauses a goroutine until a time or the end of a context.
package sleep

import (
	"context"
	"time"
)

// For pauses for a duration. It reports whether it has passed: false if the context ended first.
func For(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
