package shell

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime returns the CPU time that the process has used.
func cpuTime(t *testing.T) time.Duration {
	t.Helper()
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		t.Fatal(err)
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		t.Fatal(err)
	}
	total := func(f syscall.Filetime) int64 { return int64(f.HighDateTime)<<32 + int64(f.LowDateTime) }
	return time.Duration(100 * (total(kernel) + total(user)))
}
