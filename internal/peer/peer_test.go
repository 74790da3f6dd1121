package peer

import (
	"fmt"
	"testing"
)

// TestAttempts: what was found is kept for a connection, and a failure is not final.
func TestAttempts(t *testing.T) {
	for _, tt := range []struct {
		failures int
		want     string
	}{{0, "1 1 1 1 1"}, {1, " 2 2 2 2"}, {2, "  3 3 3"}, {3, "    "}} {
		attempts := 0
		a := &address{find: func() (string, bool) {
			attempts++
			if attempts <= tt.failures {
				return "", false
			}
			return fmt.Sprint(attempts), true
		}}
		got := a.program()
		for range 4 {
			got += " " + a.program()
		}
		if got != tt.want {
			t.Errorf("after %d failures: got %q, want %q", tt.failures, got, tt.want)
		}
	}
}

// TestNoNameIsFinal: a process that was found, and has no name, is not looked for again.
func TestNoNameIsFinal(t *testing.T) {
	attempts := 0
	a := &address{find: func() (string, bool) { attempts++; return "", true }}
	for range 3 {
		a.program()
	}
	if attempts != 1 {
		t.Errorf("it was looked for %d times", attempts)
	}
}
