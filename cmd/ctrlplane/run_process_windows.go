package main

import "os"

// forwardedSignals are signals that are sent on and else mean nothing here.
var forwardedSignals []os.Signal

func (c *commandProcess) configureGroup() {}

func (c *commandProcess) recordGroup() {}

// forward ends the command, unless the console has told it by itself.
func (c *commandProcess) forwardSignal(sig os.Signal) {
	if sig != os.Interrupt {
		c.kill()
	}
}

// terminate and kill are the same: nothing else reaches a process on Windows.
func (c *commandProcess) terminate() { c.kill() }

func (c *commandProcess) kill() {
	if c.running.Load() {
		_ = c.cmd.Process.Kill() // it fails where there is nobody left
	}
}

func stateExitCode(state *os.ProcessState) int { return state.ExitCode() }
