package datadir

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

const stopCommand = "taskkill /F /PID %d"

// Of winerror.h; package syscall does not name them.
const (
	errorWriteProtect     = syscall.Errno(19)
	errorSharingViolation = syscall.Errno(32)
	errorHandleDiskFull   = syscall.Errno(39)
	errorDiskFull         = syscall.Errno(112)
)

// openLocked opens a file that others may remove but not open, until it is
// closed or the process ends. etcd's fileutil cannot be used here: it compares
// the system's message with a text that is spelt differently, and takes a lock
// that is held for its own.
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

func alive(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	return process.Release() == nil
}

// private is true: the folder for temporary files is the user's own.
func private(fs.FileInfo) bool { return true }

func diskFull(err error) bool {
	return errors.Is(err, errorDiskFull) || errors.Is(err, errorHandleDiskFull)
}

func readOnly(err error) bool { return errors.Is(err, errorWriteProtect) }
