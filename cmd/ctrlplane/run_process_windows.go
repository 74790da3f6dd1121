package main

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// forwardedSignals only have a meaning for the command.
var forwardedSignals []os.Signal

func (c *commandProcess) configureGroup() {}

func (c *commandProcess) recordGroup() {}

// forwardSignal ends the command, unless the console has notified it itself.
func (c *commandProcess) forwardSignal(sig os.Signal) {
	if !c.hasFromTerminal(sig) {
		c.kill()
	}
}

// hasFromTerminal reports whether the console has notified the command, too.
func (c *commandProcess) hasFromTerminal(sig os.Signal) bool { return sig == os.Interrupt }

// terminate and kill are the same: Windows has no signal that asks a process to exit.
func (c *commandProcess) terminate() { c.kill() }

func (c *commandProcess) kill() {
	if c.running.Load() {
		_ = c.cmd.Process.Kill() // it fails if the process has exited
	}
}

// The command itself stands for its group, of which Windows knows nothing.
func (c *commandProcess) terminateGroup(map[int]bool) { c.kill() }
func (c *commandProcess) killGroup()                  { c.kill() }
func (c *commandProcess) groupRuns() bool             { return c.running.Load() }

// isClosedOutput reports whether a write failed because nothing reads the pipe any more.
func isClosedOutput(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

func stateExitCode(state *os.ProcessState) int { return state.ExitCode() }
