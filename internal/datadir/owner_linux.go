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
// 22nd field of proc_pid_stat(5).
func processStart(pid int) (string, error) { return statField(pid, 22) }

// isSuspended reports whether a signal has stopped a process, as Ctrl-Z does.
func isSuspended(pid int) bool {
	state, err := statField(pid, 3)
	return err == nil && state == "T"
}

// statField returns a field of proc_pid_stat(5), counted from 1, after the second one, which may contain spaces and
// parentheses.
func statField(pid, number int) (string, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, syscall.ESRCH) { // it has ended since the file was opened
		err = fs.ErrNotExist
	}
	if err != nil {
		return "", err
	}
	text := string(data)
	fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if len(fields) <= number-3 {
		return "", fmt.Errorf("/proc/%d/stat has no field %d: %q", pid, number, text)
	}
	return fields[number-3], nil
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
