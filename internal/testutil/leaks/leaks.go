// Package leaks fails tests that leave goroutines. Unlike goleak, which waits for less than half a
// second, it allows for a busy machine, where goroutines that are ending need longer.
//
// For all tests of a package:
//
//	func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }
package leaks

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long a goroutine may take to end.
const patience = time.Minute

// VerifyNone fails a test if goroutines are left that the options do not ignore.
func VerifyNone(t testing.TB, options ...goleak.Option) {
	t.Helper()
	if err := find(patience, options...); err != nil {
		t.Error(err)
	}
}

// Main runs the tests of a package, which fail if they leave goroutines, and returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	if code == 0 {
		if err := find(patience); err != nil {
			fmt.Fprintln(os.Stderr, "after all tests:", err)
			code = 1
		}
	}
	return code
}

// find looks for goroutines until there are none or the time has passed.
func find(within time.Duration, options ...goleak.Option) error {
	for deadline := time.Now().Add(within); ; {
		if err := goleak.Find(options...); err == nil || time.Now().After(deadline) {
			return err
		}
	}
}
