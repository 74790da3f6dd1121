package ctrlplanetest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// bounded is ctx until the timeout is over.
func bounded(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %v", timeout))
}

// context bounds what is done for a test: by the timeout, by the end of the test
// and by that of the control plane.
func (p *Plane) context(t testing.TB) (context.Context, context.CancelFunc) {
	ctx := t.Context()
	if ctx.Err() != nil { // in a Cleanup: the test has ended, and it counts no more
		ctx = context.WithoutCancel(ctx)
	}
	alive, died := context.WithCancelCause(ctx)
	ctx, cancel := bounded(alive, p.options.Timeout)
	go func() {
		select {
		case <-p.running.Done():
			died(p.ended())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); died(nil) }
}
