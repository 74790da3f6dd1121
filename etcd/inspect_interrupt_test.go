package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// The checks of a large database take long.
func TestStartIsInterruptedWhileItChecksFiles(t *testing.T) {
	dir := newFilledDir(t, 50)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("interrupted by the user")
	cancel(stop)
	if _, err := inspectFiles(ctx, dir); !errors.Is(err, stop) || strings.Contains(err.Error(), "damaged") {
		t.Errorf("got %v, want the cause", err)
	}
}
