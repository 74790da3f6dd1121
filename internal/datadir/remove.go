package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Remove removes a data folder with its content. If a process uses it, the error is a
// *LockedError; without a data folder at the path, a *NotFoundError.
func Remove(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(path, markerFile)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return &NotFoundError{path} // or a folder of something else
		}
		return explainError(path, "read "+markerFile, err)
	}
	lock, err := acquireLock(path, true)
	if errors.Is(err, errLockHeld) {
		pid, err := readPID(path)
		if err != nil {
			return explainError(path, "read "+pidFile, err)
		}
		return &LockedError{Path: path, PID: pid}
	}
	if err != nil {
		return explainError(path, "lock it", err)
	}
	if err := removeLockedDir(path, lock); err != nil {
		return explainError(path, "remove it", err)
	}
	return nil
}
