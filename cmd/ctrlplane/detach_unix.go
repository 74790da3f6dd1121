//go:build unix

package main

import (
	"os"
	"syscall"
)

// detachedAttributes give the process a session without a terminal.
func detachedAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// interruptDetached ends a start in the background.
func interruptDetached(p *os.Process) {
	_ = p.Signal(syscall.SIGTERM) // fails if it has ended
}
