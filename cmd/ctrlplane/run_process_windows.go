package main

import "os"

// forwardedSignals only have a meaning for the command.
var forwardedSignals []os.Signal

func (c *commandProcess) configureGroup() {}

func (c *commandProcess) recordGroup() {}

// forwardSignal ends the command, unless the console has notified it itself.
func (c *commandProcess) forwardSignal(sig os.Signal) {
	if sig != os.Interrupt {
		c.kill()
	}
}

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

func stateExitCode(state *os.ProcessState) int { return state.ExitCode() }
