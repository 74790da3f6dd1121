package datadir

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/prometheus/procfs"
)

// processStart returns when a process started, in clock ticks since the machine started.
func processStart(pid int) (string, error) {
	stat, err := processStat(pid)
	return strconv.FormatUint(stat.Starttime, 10), err
}

// isSuspended reports whether a signal has stopped a process, as Ctrl-Z does.
func isSuspended(pid int) bool {
	stat, err := processStat(pid)
	return err == nil && stat.State == "T"
}

func processStat(pid int) (procfs.ProcStat, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return procfs.ProcStat{}, err
	}
	stat, err := process.Stat()
	if errors.Is(err, syscall.ESRCH) { // it has ended since the file was opened
		err = fs.ErrNotExist
	}
	return stat, err
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
