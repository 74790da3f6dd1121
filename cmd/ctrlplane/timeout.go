package main

import (
	"context"
	"fmt"
	"time"
)

// withTimeout returns a context that ends after the timeout, with a cause that says so.
func withTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, timeout, fmt.Errorf("timed out after %v", timeout))
}
