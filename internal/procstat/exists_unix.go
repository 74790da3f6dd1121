//go:build unix

package procstat

import (
	"errors"
	"syscall"
)

// Exists reports whether a process with that id exists, also one of another user.
func Exists(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
