//go:build !unix

package main

import "os"

// running relies on FindProcess opening the process, which fails if it has ended.
func running(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	_ = p.Release() // it was opened only for this check
	return true
}
