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
		a := &address{find: func() (process, bool) {
			attempts++
			if attempts <= tt.failures {
				return process{}, false
			}
			return process{id: attempts, program: fmt.Sprint(attempts)}, true
		}}
		program := func() string { p, _ := a.process(); return p.program }
		got := program()
		for range 4 {
			got += " " + program()
		}
		if got != tt.want {
			t.Errorf("after %d failures: got %q, want %q", tt.failures, got, tt.want)
		}
	}
}

// TestNoNameIsFinal: a process that was found, and has no name, is not looked for again.
func TestNoNameIsFinal(t *testing.T) {
	attempts := 0
	a := &address{find: func() (process, bool) { attempts++; return process{}, true }}
	for range 3 {
		a.process()
	}
	if attempts != 1 {
		t.Errorf("it was looked for %d times", attempts)
	}
}
