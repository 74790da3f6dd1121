//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

const exe = ""

// setGroup puts the child into a group of its own: a Ctrl-C reaches the bench
// alone, which then ends its children in order.
func setGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr)
}

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// terminated reports whether SIGTERM ended the process, which is how etcd
// leaves after a clean stop.
func terminated(s *os.ProcessState) bool {
	status, ok := s.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGTERM
}

// killGroup cannot do more if it fails: the group is gone then.
func killGroup(p *os.Process) { _ = syscall.Kill(-p.Pid, syscall.SIGKILL) }
