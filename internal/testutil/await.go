package testutil

import (
	"testing"
	"time"
)

// awaitTimeout bounds how long Await waits: much longer than anything takes on a busy machine.
const awaitTimeout = time.Minute

// Await waits until a condition holds, and fails the test if that takes too long. what is the
// condition's name. It asks less often if asking takes long, and the longer it waits: what is awaited needs
// the CPU.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	start := time.Now()
	for deadline := time.After(awaitTimeout); ; {
		asked := time.Now()
		if holds() {
			return
		}
		select {
		case <-time.After(max(5*time.Millisecond, 2*time.Since(asked), min(time.Since(start)/20, 100*time.Millisecond))):
		case <-deadline:
			t.Fatalf("timed out after %v: %s", awaitTimeout, what)
		}
	}
}
