package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"github.com/ctrlplane/ctrlplane/internal/stopevent"
)

// detachedAttributes give the process no console.
func detachedAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.DETACHED_PROCESS}
}

// interruptDetached ends a start in the background.
func interruptDetached(p *os.Process) {
	if stopevent.Request(p.Pid) != nil {
		_ = p.Kill() // fails if it has ended
	}
}

func inheritedFiles() []int { return nil } // a process only inherits what is listed for it

func closeFiles([]int) {}
