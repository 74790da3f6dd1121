//go:build !unix

package main

import "os"

// running cannot ask about a process by its number alone where FindProcess
// opens it: one that is gone cannot be opened.
func running(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // it was opened only to see whether it is there
	return true
}
