//go:build unix

package ctrlplanetest_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processAlive reports whether a process runs. An orphan that has ended stays a zombie in a
// container whose first process does not reap.
func processAlive(pid int) bool {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat") // fails where there is no /proc
	return !strings.Contains(string(stat), ") Z ") && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
