//go:build unix

package main

import (
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// detachedAttributes give the process a session without a terminal.
func detachedAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// interruptDetached ends a start in the background.
func interruptDetached(p *os.Process) {
	_ = p.Signal(syscall.SIGTERM) // fails if it has ended
}

// inheritedFiles returns the descriptors above stderr that the caller of this program has left open.
// Those that Go opens are close-on-exec.
func inheritedFiles() (list []int) {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return nil // without it they stay open: there may be a million numbers to try
	}
	for _, e := range entries {
		fd, err := strconv.Atoi(e.Name())
		if err != nil || fd <= syscall.Stderr {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			list = append(list, fd)
		}
	}
	return list
}

func closeFiles(list []int) {
	for _, fd := range list {
		_ = unix.Close(fd) // nothing is written there
	}
}
