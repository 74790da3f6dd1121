//go:build !unix

package main

import (
	"os"
	"os/exec"
)

const exe = ".exe"

func setGroup(*exec.Cmd) {}

// terminate kills the process: this system has no gentler way.
func terminate(p *os.Process) error { return p.Kill() }

// terminated cannot distinguish a killed process from a failed one.
func terminated(*os.ProcessState) bool { return true }

// killGroup ignores errors: they mean that the process has ended.
func killGroup(p *os.Process) { _ = p.Kill() }
