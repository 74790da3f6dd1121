package testutil

import (
	"testing"
	"time"
)

// awaitTimeout bounds how long Await waits: much longer than anything takes on a busy machine.
const awaitTimeout = time.Minute

// Await waits until a condition holds, and fails the test if that takes too long. what is the
// condition's name.
func Await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(awaitTimeout); !holds(); {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited %v in vain: %s", awaitTimeout, what)
		}
	}
}
