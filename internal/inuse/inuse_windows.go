package inuse

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// isBusy takes a lack of permission for it, too: that is also the error for a file that is being
// removed, or is the target of a rename.
func isBusy(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

// OpenForReading opens a file so that other processes can rename it meanwhile, which os.Open
// does not allow.
func OpenForReading(path string) (*os.File, error) {
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
