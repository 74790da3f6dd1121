package main

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/windows"
	"golang.org/x/term"

	"github.com/ctrlplane/ctrlplane/internal/jobobject"
)

// forwardedSignals only have a meaning for the command.
var forwardedSignals []os.Signal

// systemGroup is the command with all that it has started; without a job it is the command alone.
type systemGroup struct{ job *jobobject.Job }

// release lets what the command has left running continue after the end of ctrlplane.
func (g *systemGroup) release() {
	if g.job != nil {
		g.job.Release()
	}
}

// configureGroup gives the command a process group of its own, so that it can be asked to
// exit. On a console, where Ctrl-C notifies ctrlplane's group, it stays in that one, unless
// ownGroup is set.
func (c *commandProcess) configureGroup() {
	c.sharedGroup = !c.ownGroup && term.IsTerminal(int(os.Stdin.Fd()))
	if !c.sharedGroup {
		c.cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	}
}

// recordGroup records the process group and the job of the started command.
func (c *commandProcess) recordGroup() {
	if !c.sharedGroup {
		c.groupID = c.cmd.Process.Pid
	}
	c.system.job, _ = jobobject.New(c.cmd.Process) // it fails if the command has exited
}

// forwardSignal asks the command to exit, unless the console has notified it itself.
func (c *commandProcess) forwardSignal(sig os.Signal) {
	if !c.hasFromTerminal(sig) {
		c.terminate()
	}
}

// hasFromTerminal reports whether the console has notified the command, too.
func (c *commandProcess) hasFromTerminal(sig os.Signal) bool {
	return c.sharedGroup && sig == os.Interrupt
}

// terminate asks the command to exit; kill forces it, with what it has started.
func (c *commandProcess) terminate() {
	if c.running.Load() && !c.sendBreak() {
		c.kill()
	}
}

// sendBreak sends CTRL_BREAK to the command's own process group: the only signal of Windows that
// can be sent to another group. It reports false without a group of that kind, or without a console.
func (c *commandProcess) sendBreak() bool {
	return c.groupID != 0 && windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(c.groupID)) == nil
}

func (c *commandProcess) kill() {
	if c.running.Load() {
		c.killGroup()
	}
}

// terminateGroup asks the processes of the command's own group to exit, once.
func (c *commandProcess) terminateGroup(asked map[int]bool) {
	if asked[c.groupID] {
		return
	}
	asked[c.groupID] = true
	if !c.sendBreak() {
		c.killGroup()
	}
}

// killGroup ends the command and all that it has started by force.
func (c *commandProcess) killGroup() {
	switch {
	case c.system.job != nil:
		c.system.job.Kill()
	case c.running.Load():
		_ = c.cmd.Process.Kill() // it fails if the process has exited
	}
}

// groupRuns reports whether the command runs, or something that it has started.
func (c *commandProcess) groupRuns() bool {
	if c.system.job != nil {
		return c.system.job.Runs()
	}
	return c.running.Load()
}

// isClosedOutput reports whether a write failed because nothing reads the pipe any more.
func isClosedOutput(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

func stateExitCode(state *os.ProcessState) int { return state.ExitCode() }

// signalName returns the name of a signal that ends this process.
func signalName(sig os.Signal) string {
	switch sig {
	case os.Interrupt:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	case syscall.SIGHUP:
		return "SIGHUP"
	}
	return sig.String()
}

func stateSignal(*os.ProcessState) syscall.Signal { return 0 }
