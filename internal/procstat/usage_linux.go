package procstat

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// Meter measures this process. It reads two numbers only, because the observer measures
// once a second: the process collector of Prometheus, which other systems use, parses
// four files for more than these, and lists all descriptors.
type Meter struct{}

// NewMeter returns a Meter.
func NewMeter() *Meter { return &Meter{} }

// Measure returns the current usage.
func (*Meter) Measure() (u Usage, err error) {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return u, fmt.Errorf("CPU time of this process: %w", err)
	}
	u.CPU = time.Duration(used.Utime.Nano() + used.Stime.Nano())
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return u, fmt.Errorf("memory of this process: %w", err)
	}
	u.Memory, err = residentBytes(statm)
	return u, err
}

// residentBytes reads the second field, resident, of proc_pid_statm(5).
func residentBytes(statm []byte) (int64, error) {
	fields := bytes.Fields(statm)
	if len(fields) < 2 {
		return 0, fmt.Errorf("/proc/self/statm has no resident size: %q", statm)
	}
	pages, err := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/proc/self/statm: resident: %w", err)
	}
	return pages * int64(os.Getpagesize()), nil
}
