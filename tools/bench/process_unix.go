//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

const exe = ""

// setGroup starts the child in a process group of its own: Ctrl-C reaches only the bench,
// which then stops its child processes in order.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// terminated reports whether SIGTERM ended the process: etcd ends that way after a clean
// stop.
func terminated(s *os.ProcessState) bool {
	status, ok := s.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}

// killGroup ignores errors: they mean that the group has ended.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
