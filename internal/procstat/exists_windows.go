package procstat

import (
	"errors"

	"golang.org/x/sys/windows"
)

// Exists reports whether a process with that id exists, also one of another user.
func Exists(pid int) bool {
	process, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return errors.Is(err, windows.ERROR_ACCESS_DENIED)
	}
	defer func() { _ = windows.CloseHandle(process) }() // nothing was written
	// One that has ended keeps its id while another process has it open.
	event, err := windows.WaitForSingleObject(process, 0)
	return err == nil && event == uint32(windows.WAIT_TIMEOUT)
}
