package datadir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const (
	stopCommand = "taskkill /F /PID %d"
	killCommand = stopCommand
)

// endProcess kills the process: Windows has no signal that asks one to end.
func endProcess(p *os.Process) error { return p.Kill() }

// claimStop claims nothing: to kill a process twice does no harm.
func claimStop(string) (release func(), asked bool) { return func() {}, false }

// From winerror.h; package syscall does not define them.
const (
	errorWriteProtect     = syscall.Errno(19)
	errorSharingViolation = syscall.Errno(32)
)

// openLocked opens a file so that others can remove it but not open it, until it is closed
// or the process ends. It does not use etcd's fileutil, which compares the system's
// message with a text of another spelling, and so does not notice that a lock is held.
func openLocked(path string, create bool) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	disposition := uint32(syscall.OPEN_EXISTING)
	if create {
		disposition = syscall.OPEN_ALWAYS
	}
	handle, err := syscall.CreateFile(name, syscall.GENERIC_WRITE, syscall.FILE_SHARE_DELETE, nil, disposition, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, errorSharingViolation) {
		return nil, errLockHeld
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}

// isPrivateFile returns true, because the folder for temporary files belongs to the user.
func isPrivateFile(fs.FileInfo) bool { return true }

func readOnly(err error) bool { return errors.Is(err, errorWriteProtect) }
