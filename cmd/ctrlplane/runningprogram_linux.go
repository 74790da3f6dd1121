package main

import "os"

// runningProgram returns a path of the program of this process, which was at path when it started: an upgrade may
// have replaced the file. As long as it has not, path remains, because the kernel names the process after it.
func runningProgram(path string) string {
	const own = "/proc/self/exe"
	running, err := os.Stat(own)
	if err != nil {
		return path
	}
	if now, err := os.Stat(path); err == nil && os.SameFile(now, running) {
		return path
	}
	return own
}
