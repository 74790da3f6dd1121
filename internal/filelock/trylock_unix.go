//go:build unix

package filelock

import (
	"errors"
	"io/fs"
	"os"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"
)

// TryLock opens a file for writing and locks it, without waiting. Without create, a missing file
// is an error. Others can remove the file meanwhile.
func TryLock(path string, create bool) (*os.File, error) {
	flag := os.O_WRONLY
	if create {
		flag |= os.O_CREATE
	}
	lock, err := fileutil.TryLockFile(path, flag, 0o600)
	if errors.Is(err, fileutil.ErrLocked) {
		return nil, ErrHeld
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, cause // without the name of fileutil's function
	}
	if err != nil {
		return nil, err
	}
	return lock.File, nil
}
