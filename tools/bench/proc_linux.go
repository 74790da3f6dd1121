package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dieWithParent makes the kernel kill the child process when the bench is killed.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// cpuTime returns the CPU time of a running process, user and system.
func cpuTime(pid int) (time.Duration, error) {
	// clock_getcpuclockid(3) has nanoseconds; /proc/PID/stat has only hundredths of
	// a second.
	var ts unix.Timespec
	clock := int32(^pid)<<3 | 2
	if err := unix.ClockGettime(clock, &ts); err != nil {
		return 0, fmt.Errorf("CPU time of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

func memoryOf(pid int) (memory, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return memory{}, err
	}
	defer f.Close() // it was only read
	data, err := io.ReadAll(f)
	if err != nil {
		return memory{}, err
	}
	return parseSmaps(string(data))
}

// loadAverage returns the load average of the last minute.
func loadAverage() (float64, error) {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(data), " ")
	return strconv.ParseFloat(first, 64)
}

func cpuModel() string { return procField("/proc/cpuinfo", "model name") }

func memoryTotal() string { return procField("/proc/meminfo", "MemTotal") }

// procField returns the value of the first line with this name; "" if there is none.
func procField(path, name string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
