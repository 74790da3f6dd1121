package testutil

import (
	"runtime"
	"testing"
)

// RequireFineClock skips a test of things that follow each other within microseconds where the
// clock shows the same time for them.
func RequireFineClock(t testing.TB) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the clock advances in steps of about a millisecond")
	}
}
