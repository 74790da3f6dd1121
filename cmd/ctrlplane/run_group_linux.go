package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const canListGroups = true

// groupMembers lists the running processes of a process group.
func groupMembers(group int) []groupMember {
	paths, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	var found []groupMember
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // the process has exited in the meantime
		}
		p, of, runs := parseStat(string(data))
		if runs && of == group {
			found = append(found, p)
		}
	}
	return found
}

// parseStat reads "PID (NAME) STATE PPID PGRP …"; NAME may contain any character.
func parseStat(stat string) (p groupMember, group int, runs bool) {
	open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
	if open < 0 || end < open {
		return p, 0, false
	}
	rest := strings.Fields(stat[end+1:])
	pid, err := strconv.Atoi(strings.TrimSpace(stat[:open]))
	if err != nil || len(rest) < 3 {
		return p, 0, false
	}
	group, err = strconv.Atoi(rest[2])
	dead := rest[0] == "Z" || rest[0] == "X"
	return groupMember{pid, stat[open+1 : end]}, group, err == nil && !dead
}

// killWithParent makes the kernel kill the command when the thread that started it ends,
// so also when ctrlplane is killed. What the command has started remains.
func killWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }
