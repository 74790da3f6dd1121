package procstat

import (
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// clockTick is the unit of time in /proc (USER_HZ), the same on every architecture
// that Go supports.
const clockTick = 10 * time.Millisecond

func processStartTime() (time.Time, error) {
	self, err := procfs.Self()
	if err != nil {
		return time.Time{}, err
	}
	stat, err := self.Stat()
	if err != nil {
		return time.Time{}, err
	}
	var up unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &up); err != nil {
		return time.Time{}, err
	}
	return time.Now().Add(time.Duration(stat.Starttime)*clockTick - time.Duration(up.Nano())), nil
}
