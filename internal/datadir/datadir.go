// Package datadir keeps the folder in which a named control plane holds what
// outlives its process: data, certificates, port, kubeconfig and log.
//
// One process at a time has a folder: the file "lock" in it is locked by the
// operating system, so a process that dies gives the folder back. A folder is
// taken for ours if it is empty or holds the marker "ctrlplane.json"; nothing
// is ever written into another. Folders are 0700 and the files written here
// 0600.
//
// An ephemeral folder is removed by Close, or, when its process died, by the
// next Temp of the same user.
package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/durable"
)

const (
	markerFile = "ctrlplane.json"
	lockFile   = "lock"
	pidFile    = "pid"
	stateFile  = "state.json"
)

// Dir is an open data folder: its lock is held from Open or Temp until Close.
type Dir struct {
	path       string
	ephemeral  bool
	cleanupErr error
	created    []string // the folders that Open made, outermost first
	lock       *os.File
	close      func() error
}

func newDir(path string, lock *os.File, ephemeral bool) *Dir {
	d := &Dir{path: path, lock: lock, ephemeral: ephemeral}
	d.close = sync.OnceValue(d.unlockOrRemove)
	return d
}

// Path is the absolute path of the folder.
func (d *Dir) Path() string { return d.path }

// Join is the absolute path of something in the folder.
func (d *Dir) Join(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Ephemeral reports whether Close removes the folder.
func (d *Dir) Ephemeral() bool { return d.ephemeral }

// CleanupError says what of crashed runs Temp could not remove, nil if all is
// gone; it is a warning, the folder itself is usable.
func (d *Dir) CleanupError() error { return d.cleanupErr }

// Close gives the folder back, and removes it if it is ephemeral. Whatever
// writes into it must have ended. Further calls return the first one's error.
func (d *Dir) Close() error { return d.close() }

// Discard is Close for a start that came to nothing: a folder that Open made
// goes, with all that is in it; one that was there before stays as it is.
func (d *Dir) Discard() error {
	d.ephemeral = d.ephemeral || len(d.created) > 0
	err := d.Close()
	for _, dir := range slices.Backward(d.created) {
		_ = os.Remove(dir) // fails if another start has it by now, as it should
	}
	return err
}

func (d *Dir) unlockOrRemove() error {
	if d.ephemeral {
		if err := removeLockedDir(d.path, d.lock); err != nil {
			return fmt.Errorf("temporary folder %s is still there (%w): remove it by hand", d.path, err)
		}
		return nil
	}
	err := os.Remove(d.Join(pidFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err := errors.Join(err, d.lock.Close()); err != nil {
		return explainError(d.path, "give it back", err)
	}
	return nil
}

// removeLockedDir removes a folder whose lock the caller holds, and lets go of
// the lock. The lock file goes after all other content: once it is gone
// another process may make it anew and own the folder, from then on only an
// empty folder may be removed.
func removeLockedDir(path string, lock *os.File) (err error) {
	defer func() {
		if closeErr := lock.Close(); err == nil && !errors.Is(closeErr, os.ErrClosed) {
			err = closeErr
		}
	}()
	entries, err := os.ReadDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == lockFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(path, e.Name())); err != nil {
			return err
		}
	}
	if err := os.Remove(filepath.Join(path, lockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// Windows keeps a removed file's name until it is closed.
	if err := lock.Close(); err != nil {
		return err
	}
	return removeEmptyDir(path)
}

// removeEmptyDir removes a folder that nobody has, unless another process locks it.
func removeEmptyDir(path string) (err error) {
	for range tempAttempts {
		err = os.Remove(path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		entries, readErr := os.ReadDir(path)
		switch {
		case readErr != nil || len(entries) == 0: // another removed its lock, or all, meanwhile
		case slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == lockFile }):
			return errLockedAgain
		default:
			return err
		}
	}
	return err
}

// errLockedAgain says that another process locked a folder anew that was about to
// be removed: it is that one's now.
var errLockedAgain = errors.New("another process has it now")

// isHousekeepingFile reports whether a file may lie in a folder of ours that has no
// marker yet.
func isHousekeepingFile(name string) bool {
	return name == lockFile || name == pidFile || strings.HasPrefix(name, durable.TempPrefix)
}
