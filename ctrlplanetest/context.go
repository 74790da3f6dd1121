package ctrlplanetest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"
)

// withTimeout returns a context that ends after the timeout, with a cause that says so.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %v", timeout))
}

// testContext returns the context for what is done for a test: it ends after the
// timeout, with the test, or with the control plane.
func (p *ControlPlane) testContext(t testing.TB) (context.Context, context.CancelFunc) {
	ctx := t.Context()
	if ctx.Err() != nil { // in a Cleanup, where the test's context has ended
		ctx = context.WithoutCancel(ctx)
	}
	alive, died := context.WithCancelCause(ctx)
	ctx, cancel := withTimeout(alive, p.options.Timeout)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-p.running.Done():
			died(p.endedError())
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); watching.Wait(); died(nil) }
}
