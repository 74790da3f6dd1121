package main

import "os"

// forTheCommand are signals that are sent on and else mean nothing here.
var forTheCommand []os.Signal

func (c *child) choose() {}

func (c *child) placed() {}

// forward ends the command, unless the console has told it by itself.
func (c *child) forward(sig os.Signal) {
	if sig != os.Interrupt {
		c.kill()
	}
}

// end and kill are the same: nothing else reaches a process on Windows.
func (c *child) end() { c.kill() }

func (c *child) kill() {
	if c.running.Load() {
		_ = c.cmd.Process.Kill() // it fails where there is nobody left
	}
}

func codeOfState(state *os.ProcessState) int { return state.ExitCode() }
