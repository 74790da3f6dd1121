package datadir

import (
	"errors"
	"io/fs"
	"path/filepath"
)

// Info describes a data folder, whether a process uses it or not.
type Info struct {
	State
	Path      string
	Running   bool  // a process uses the folder
	Suspended bool  // that process is, as by Ctrl-Z; only known on Linux
	Crashed   bool  // the last process that used it has not closed it
	Ephemeral bool  // the folder is removed with its control plane
	Foreign   bool  // it is ephemeral, and was made with another HOME
	Bytes     int64 // the size of its files
}

// Inspect describes a data folder. It fails for a path without one, and with a [*NewerFormatError] for
// one that is not in use and whose format is higher than FormatVersion.
func Inspect(path string) (Info, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Info{}, err
	}
	info := Info{Path: path}
	mark, marked, err := readMarker(path)
	if err != nil {
		return info, err
	}
	if !marked {
		return info, &NotFoundError{path}
	}
	info.Ephemeral, info.Foreign = mark.Ephemeral, mark.isForeign()
	if info.State, info.Running, err = Peek(path); err != nil {
		return info, err
	}
	info.Suspended = info.Running && isOwnerSuspended(path, info.PID)
	if !info.Running {
		pid, err := readPID(path)
		if err != nil {
			return info, explainError(path, "read "+pidFile, err)
		}
		info.Crashed = pid != 0 // Close removes it
	}
	info.Bytes, err = sizeOf(path)
	if err == nil && !info.Running && mark.Format > FormatVersion {
		err = newNewerFormatError(path, mark.Format, FormatVersion, info.State)
	}
	return info, err
}

// SuspendedPID returns the process that uses a data folder if that is suspended, as by Ctrl-Z: then it does not answer.
// Otherwise, and where that is not known, it returns 0.
func SuspendedPID(path string) int {
	pid, err := readPID(path)
	if err != nil || !isOwnerSuspended(path, pid) {
		return 0
	}
	return pid
}

func isOwnerSuspended(path string, pid int) bool {
	return pid != 0 && isSuspended(pid) && checkOwner(path, pid) == nil
}

// IsForeign reports whether a data folder is ephemeral and was made with another HOME: a test
// of another project may have done so.
func IsForeign(path string) bool {
	mark, _, err := readMarker(path)
	return err == nil && mark.isForeign()
}

// NotFoundError says that there is no data folder at a path.
type NotFoundError struct{ Path string }

func (e *NotFoundError) Error() string { return "there is no data folder at " + e.Path }

// sizeOf adds up the sizes of all files in a folder, some of which may be removed meanwhile.
func sizeOf(path string) (sum int64, err error) {
	err = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = d.Info(); err == nil {
				sum += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return 0, explainError(path, "read it", err)
	}
	return sum, nil
}
