package stopevent

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/windows"
)

// eventName is the name of the event of a process, for all sessions of the machine.
func eventName(pid int) (*uint16, error) {
	return windows.UTF16PtrFromString(fmt.Sprintf(`Global\ctrlplane-stop-%d`, pid))
}

// Requested is closed when another process asks this one to end; nil if none can.
var Requested = sync.OnceValue(func() <-chan struct{} {
	name, err := eventName(os.Getpid())
	if err != nil {
		return nil
	}
	const manualReset = 1
	event, err := windows.CreateEvent(nil, manualReset, 0, name) // only this user may set it
	if err != nil {
		return nil
	}
	requested := make(chan struct{})
	go func() { // until the process ends
		if _, err := windows.WaitForSingleObject(event, windows.INFINITE); err == nil {
			close(requested)
		}
	}()
	return requested
})

// Request asks a process to end. It fails if the process has not called Requested.
func Request(pid int) error {
	name, err := eventName(pid)
	if err != nil {
		return err
	}
	event, err := windows.OpenEvent(windows.EVENT_MODIFY_STATE, false, name)
	if err != nil {
		return err
	}
	defer windows.CloseHandle(event)
	return windows.SetEvent(event)
}
