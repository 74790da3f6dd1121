package procstat

import "os"

// Exists reports whether a process with that id exists, also one of another user.
func Exists(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return process.Release() == nil
}
