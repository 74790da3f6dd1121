// Package durable replaces and removes files atomically, and creates folders, so that a crash
// of the machine does not undo it.
package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/fileutil"

	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

// TempPrefix is the prefix of the names of files that Write has not finished.
const TempPrefix = ".new-"

// Write replaces a file atomically, with mode 0600. With durable set, the file
// survives a crash of the machine once Write has returned.
func Write(path string, data []byte, durable bool) error {
	if err := Replace(path, TempPrefix, data, durable, nil); err != nil || !durable {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Replace replaces a file atomically. prepare, if not nil, may change the owner and the
// mode of the new file, which is 0600. Until it is complete, the file's name begins with
// prefix. With durable set, the content survives a crash of the machine, but the
// replacement itself may not. What is not a file, such as a device, is not replaced.
func Replace(path, prefix string, data []byte, durable bool, prepare func(*os.File) error) error {
	if err := checkReplaceable(path); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), prefix+"*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && prepare != nil {
		err = prepare(f)
	}
	if err == nil && durable {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = inuse.Retry(func() error { return os.Rename(f.Name(), path) })
	}
	if err != nil {
		_ = os.Remove(f.Name()) // the first error matters more
	}
	return err
}

// unfinishedAge is how old a file is that Write cannot be writing any more: it writes for seconds.
const unfinishedAge = 24 * time.Hour

// RemoveUnfinished removes the files in a folder that killed processes have not finished to write.
// What it cannot remove is left to a later call: nothing depends on it.
func RemoveUnfinished(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), TempPrefix) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > unfinishedAge {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// Remove removes a file. With durable set, it stays removed after a crash of the machine.
func Remove(path string, durable bool) error {
	if err := inuse.Retry(func() error { return os.Remove(path) }); err != nil {
		return err
	}
	if durable {
		return SyncDir(filepath.Dir(path))
	}
	return nil
}

// MkdirAll creates a folder with its parents, all with mode 0700, and returns those that it
// has created, outermost first, also after an error. What exists at the path already is not
// examined. With durable set, the new folders survive a crash of the machine, as far as this
// user may sync the folders that have them.
func MkdirAll(path string, durable bool) (made []string, err error) {
	var missing []string
	for dir := path; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		missing = append(missing, dir)
	}
	for _, dir := range slices.Backward(missing) {
		err := os.Mkdir(dir, 0o700)
		if errors.Is(err, fs.ErrExist) {
			continue // another process creates it, too
		}
		if err != nil {
			return made, err
		}
		made = append(made, dir)
		if !durable {
			continue
		}
		// A folder in which this user may only create others cannot be opened to sync it.
		if err := SyncDir(filepath.Dir(dir)); err != nil && !errors.Is(err, fs.ErrPermission) {
			return made, err
		}
	}
	return made, nil
}

// SyncDir makes the names in a folder survive a crash of the machine: of files and folders that
// were created, renamed or removed there.
func SyncDir(path string) error {
	var dir *os.File
	err := inuse.Retry(func() (err error) { // another process may try to remove the folder
		dir, err = fileutil.OpenDir(path)
		return err
	})
	if err != nil {
		return err
	}
	err = dir.Sync()
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	return err
}
