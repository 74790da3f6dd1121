package filelock

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// IsHeld reports whether TryLock would return ErrHeld, for a file that may only be read.
func IsHeld(path string) (bool, error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close() // nothing was written
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &lock); err != nil {
		return false, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	return lock.Type != unix.F_UNLCK, nil
}
