package procstat

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// clockTick is the unit of time in /proc (USER_HZ), the same on every architecture
// that Go supports.
const clockTick = 10 * time.Millisecond

func processStartTime() (time.Time, error) {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return time.Time{}, err
	}
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}, err
	}
	since, err := sinceBoot(data)
	return time.Now().Add(since - time.Duration(up.Nano())), err
}

// sinceBoot reads the 22nd field, starttime, of proc_pid_stat(5). The second field
// is the program's name in parentheses, which may contain spaces and parentheses.
func sinceBoot(stat []byte) (time.Duration, error) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	const at = 22 - 3
	if len(fields) <= at {
		return 0, fmt.Errorf("/proc/self/stat has no starttime: %q", stat)
	}
	ticks, err := strconv.ParseInt(string(fields[at]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/self/stat: starttime: %w", err)
	}
	return time.Duration(ticks) * clockTick, nil
}
