//go:build unix

package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// forTheCommand are signals that are sent on and else mean nothing here.
var forTheCommand = []os.Signal{syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// choose gives the command a process group of its own, so that signals reach,
// and what it leaves behind is known of, all of it. At a terminal it stays in
// ours: only there may it read the terminal, and be stopped and continued by
// the shell together with us.
func (c *child) choose() {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		return
	}
	_ = tty.Close() // nothing was written
	c.ours = true
	c.before = map[int]bool{}
	for _, p := range members(syscall.Getpgrp()) {
		c.before[p.pid] = true
	}
}

// placed notes where the command has come to be.
func (c *child) placed() {
	c.group = c.cmd.Process.Pid
	if c.ours {
		c.group = syscall.Getpgrp()
	}
}

// forward sends a signal on, unless the terminal has sent it to all of us.
func (c *child) forward(sig os.Signal) {
	s, ok := sig.(syscall.Signal)
	if !ok || c.ours && (s == syscall.SIGINT || s == syscall.SIGQUIT) && inForeground() {
		return
	}
	c.send(s)
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

// end asks the command to end, kill ends it.
func (c *child) end() {
	c.send(syscall.SIGTERM)
	c.send(syscall.SIGCONT) // it may be stopped
}

func (c *child) kill() { c.send(syscall.SIGKILL) }

func (c *child) send(sig syscall.Signal) {
	if !c.running.Load() {
		return
	}
	if c.ours {
		_ = c.cmd.Process.Signal(sig) // it fails where there is nobody left
		return
	}
	_ = syscall.Kill(-c.group, sig)
}

// codeOfState is the exit code as a shell gives it.
func codeOfState(state *os.ProcessState) int {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return codeOfSignal(s.Signal())
	}
	return state.ExitCode()
}
