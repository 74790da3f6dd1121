package main

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const statZombie = 5 // SZOMB of sys/proc.h

const canListGroups = true

// groupMembers lists the running processes of a process group.
func groupMembers(group int) []groupMember {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return nil
	}
	var found []groupMember
	for _, p := range all {
		if p.Proc.P_stat != statZombie {
			found = append(found, groupMember{int(p.Proc.P_pid), unix.ByteSliceToString(p.Proc.P_comm[:])})
		}
	}
	return found
}

// killWithParent does nothing: macOS has no such signal.
func killWithParent(*syscall.SysProcAttr) {}
