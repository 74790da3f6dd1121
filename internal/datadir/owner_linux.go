package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// processStart returns when a process started, in clock ticks since the machine started: the
// 22nd field of proc_pid_stat(5). The second field may contain spaces and parentheses.
func processStart(pid int) (string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, syscall.ESRCH) { // it has ended since the file was opened
		err = fs.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	text := string(data)
	const start = 22 - 3 // the fields after the second one
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= start {
		return "", fmt.Errorf("/proc/%d/stat has no start time: %q", pid, text)
	}
	return fields[start], nil
}

// pidPlace returns what differs between machines, their starts, and containers.
func pidPlace() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	namespace, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + " " + namespace, nil
}
