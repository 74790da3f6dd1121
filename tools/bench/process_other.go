//go:build !unix

package main

import (
	"os"
	"os/exec"
)

const exe = ".exe"

func setGroup(*exec.Cmd) {}

// terminate kills: there is no gentler way to end another process here.
func terminate(p *os.Process) error { return p.Kill() }

// terminated cannot tell a process that was killed from one that failed.
func terminated(*os.ProcessState) bool { return true }

// killGroup cannot do more if it fails: the process is gone then.
func killGroup(p *os.Process) { _ = p.Kill() }
