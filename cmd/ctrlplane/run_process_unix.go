//go:build unix

package main

import (
	"errors"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// forwardedSignals only have a meaning for the command.
var forwardedSignals = []os.Signal{syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2}

// waitUponInterrupt are the names of programs that end upon SIGINT once what they run has ended.
var waitUponInterrupt = []string{"go", "make", "gmake"}

// systemGroup is empty: the process group says what belongs to the command.
type systemGroup struct{}

// release does nothing: what the command has left running does not depend on ctrlplane.
func (*systemGroup) release() {}

// configureGroup gives the command a process group of its own, so that signals reach
// all of its processes and leftovers can be found. On a terminal the command stays in
// ctrlplane's group: only that one may read the terminal, and the shell stops and
// continues it as a whole. With ownGroup it has its own on a terminal, too.
func (c *commandProcess) configureGroup() {
	if c.ownGroup || !hasTerminal() {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		killWithParent(c.cmd.SysProcAttr)
		return
	}
	c.cmd.SysProcAttr = &syscall.SysProcAttr{}
	killWithParent(c.cmd.SysProcAttr)
	c.sharedGroup = true
	c.groupBefore = map[int]bool{}
	for _, p := range groupMembers(syscall.Getpgrp()) {
		c.groupBefore[p.pid] = true
	}
}

// hasTerminal reports whether ctrlplane has a controlling terminal.
func hasTerminal() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	_ = tty.Close() // nothing was written
	return true
}

// recordGroup records the process group of the started command.
func (c *commandProcess) recordGroup() {
	c.groupID = c.cmd.Process.Pid
	if c.sharedGroup {
		c.groupID = syscall.Getpgrp()
	}
}

// forwardSignal forwards a signal, unless the terminal has sent it to the whole group.
func (c *commandProcess) forwardSignal(sig os.Signal) {
	if s, ok := sig.(syscall.Signal); ok && !c.hasFromTerminal(sig) {
		c.signal(s)
	}
}

// hasFromTerminal reports whether the terminal has sent the signal to the command, too.
func (c *commandProcess) hasFromTerminal(sig os.Signal) bool {
	return c.sharedGroup && (sig == syscall.SIGINT || sig == syscall.SIGQUIT) && inForeground()
}

// inForeground reports whether the terminal sends its signals to ctrlplane's group.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == syscall.Getpgrp()
}

// terminate asks the command to exit; kill forces it.
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
		_ = c.cmd.Process.Signal(sig) // it fails if the process has exited
		return
	}
	_ = syscall.Kill(-c.groupID, sig)
}

// terminateGroup asks all processes of the command's own group to exit that were not asked
// before, also once the command itself has exited. The go command gets SIGINT: upon that it
// waits for what it runs and removes its temporary folder, which it leaves upon SIGTERM. So does make,
// which passes SIGTERM on to what it runs: upon SIGINT it waits for that, and starts nothing more.
func (c *commandProcess) terminateGroup(asked map[int]bool) {
	if !canListGroups && !asked[c.groupID] && c.groupRuns() {
		asked[c.groupID] = true
		_ = syscall.Kill(-c.groupID, syscall.SIGTERM)
		return
	}
	for _, p := range groupMembers(c.groupID) {
		if asked[p.pid] {
			continue
		}
		asked[p.pid] = true
		sig := syscall.SIGTERM
		if slices.Contains(waitUponInterrupt, p.name) {
			sig = syscall.SIGINT
		}
		_ = syscall.Kill(p.pid, sig) // it may have exited in the meantime
		_ = syscall.Kill(p.pid, syscall.SIGCONT)
	}
}

// killGroup ends all processes of the command's own group by force.
func (c *commandProcess) killGroup() {
	if c.groupRuns() {
		_ = syscall.Kill(-c.groupID, syscall.SIGKILL)
	}
}

// groupRuns reports whether a process of the command's own group runs.
func (c *commandProcess) groupRuns() bool {
	if c.groupID == 0 || syscall.Kill(-c.groupID, 0) == syscall.ESRCH {
		return false
	}
	if !canListGroups {
		return true
	}
	return len(groupMembers(c.groupID)) > 0 // without those that only wait to be reaped
}

// isClosedOutput reports whether a write failed because nothing reads the pipe any more.
func isClosedOutput(err error) bool { return errors.Is(err, syscall.EPIPE) }

// stateExitCode is the exit code that a shell would report.
func stateExitCode(state *os.ProcessState) int {
	if sig := stateSignal(state); sig != 0 {
		return signalExitCode(sig)
	}
	return state.ExitCode()
}

// signalName returns the name of a signal, such as SIGTERM.
func signalName(sig os.Signal) string {
	if s, ok := sig.(syscall.Signal); ok {
		if name := unix.SignalName(s); name != "" {
			return name
		}
	}
	return sig.String()
}

// stateSignal is the signal that has ended a process; 0 = none.
func stateSignal(state *os.ProcessState) syscall.Signal {
	if s, ok := state.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return s.Signal()
	}
	return 0
}
