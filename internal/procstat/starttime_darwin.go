package procstat

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

func processStartTime() (time.Time, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", os.Getpid())
	if err != nil {
		return time.Time{}, err
	}
	return time.Unix(info.Proc.P_starttime.Unix()), nil
}
