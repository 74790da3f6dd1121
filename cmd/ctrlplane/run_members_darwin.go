package main

import "golang.org/x/sys/unix"

const zombie = 5 // SZOMB of sys/proc.h

// members lists who runs in a process group.
func members(group int) []process {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", group)
	if err != nil {
		return nil
	}
	var found []process
	for _, p := range all {
		if p.Proc.P_stat != zombie {
			found = append(found, process{int(p.Proc.P_pid), unix.ByteSliceToString(p.Proc.P_comm[:])})
		}
	}
	return found
}
