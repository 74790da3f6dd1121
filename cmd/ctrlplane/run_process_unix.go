//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwardedSignals are signals that are sent on and else mean nothing here.
var forwardedSignals = []os.Signal{syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// configureGroup gives the command a process group of its own, so that signals reach,
// and what it leaves behind is known of, all of it. At a terminal it stays in
// ours: only there may it read the terminal, and be stopped and continued by
// the shell together with us.
func (c *commandProcess) configureGroup() {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return
	}
	_ = tty.Close() // nothing was written
	c.sharedGroup = true
	c.groupBefore = map[int]bool{}
	for _, p := range groupMembers(syscall.Getpgrp()) {
		c.groupBefore[p.pid] = true
	}
}

// recordGroup notes where the command has come to be.
func (c *commandProcess) recordGroup() {
	c.groupID = c.cmd.Process.Pid
	if c.sharedGroup {
		c.groupID = syscall.Getpgrp()
	}
}

// forwardSignal sends a signal on, unless the terminal has sent it to all of us.
func (c *commandProcess) forwardSignal(sig os.Signal) {
	s, ok := sig.(syscall.Signal)
	if !ok || c.sharedGroup && (s == syscall.SIGINT || s == syscall.SIGQUIT) && inForeground() {
		return
	}
	c.signal(s)
}

// inForeground tells whether the terminal's keys reach our group.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// terminate asks the command to end, kill ends it.
func (c *commandProcess) terminate() {
	c.signal(syscall.SIGTERM)
	c.signal(syscall.SIGCONT) // it may be stopped
}

func (c *commandProcess) kill() { c.signal(syscall.SIGKILL) }

func (c *commandProcess) signal(sig syscall.Signal) {
	if !c.running.Load() {
		return
	}
	if c.sharedGroup {
		_ = c.cmd.Process.Signal(sig) // it fails where there is nobody left
		return
	}
	_ = syscall.Kill(-c.groupID, sig)
}

// stateExitCode is the exit code as a shell gives it.
func stateExitCode(state *os.ProcessState) int {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return signalExitCode(s.Signal())
	}
	return state.ExitCode()
}
