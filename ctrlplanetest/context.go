package ctrlplanetest

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// withTimeout is ctx until the timeout is over.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %v", timeout))
}

// testContext bounds what is done for a test: by the timeout, by the end of the test
// and by that of the control plane.
func (p *ControlPlane) testContext(t testing.TB) (context.Context, context.CancelFunc) {
	ctx := t.Context()
	if ctx.Err() != nil { // in a Cleanup: the test has ended, and it counts no more
		ctx = context.WithoutCancel(ctx)
	}
	alive, died := context.WithCancelCause(ctx)
	ctx, cancel := withTimeout(alive, p.options.Timeout)
	go func() {
		select {
		case <-p.running.Done():
			died(p.endedError())
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(); died(nil) }
}
