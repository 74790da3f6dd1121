package main

import (
	"syscall"

	"github.com/prometheus/procfs"
)

const canListGroups = true

// groupMembers lists the running processes of a process group.
func groupMembers(group int) []groupMember {
	processes, err := procfs.AllProcs()
	if err != nil {
		return nil
	}
	var found []groupMember
	for _, p := range processes {
		stat, err := p.Stat()
		if err != nil {
			continue // the process has exited in the meantime
		}
		if dead := stat.State == "Z" || stat.State == "X"; stat.PGRP == group && !dead {
			found = append(found, groupMember{stat.PID, stat.Comm})
		}
	}
	return found
}

// killWithParent makes the kernel kill the command when the thread that started it ends,
// so also when ctrlplane is killed. What the command has started remains.
func killWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
