package logfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// rename returns errInUse if a program that does not allow it has one of the files open.
func rename(from, to string) error {
	err := os.Rename(from, to)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED) {
		return fmt.Errorf("%w: %w", errInUse, err)
	}
	return err
}

// openForReading opens a file so that it can be renamed meanwhile, which os.Open does not allow.
func openForReading(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	var handle windows.Handle
	if err == nil {
		const share = windows.FILE_SHARE_READ | windows.FILE_SHARE_WRITE | windows.FILE_SHARE_DELETE
		handle, err = windows.CreateFile(name, windows.GENERIC_READ, share, nil, windows.OPEN_EXISTING, windows.FILE_ATTRIBUTE_NORMAL, 0)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(handle), path), nil
}
