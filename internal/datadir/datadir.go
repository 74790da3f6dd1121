// Package datadir manages data folders: where a named control plane keeps its data,
// certificates, port, kubeconfig and log from one process to the next.
//
// One process at a time uses a folder. It holds a lock of the operating system on the
// file "lock", which is released when the process ends, however it ends. A folder is
// used only if it is empty or contains the marker "ctrlplane.json"; nothing is ever
// written into another one. Folders have mode 0700 and the files written here 0600; Windows has no
// modes, and there the access rights are those of the folder that has them.
//
// An ephemeral folder is removed by Close or, if its process was killed, by the next
// OpenTemp of the same user.
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
	"time"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

const (
	markerFile = "ctrlplane.json"
	lockFile   = "lock"
	pidFile    = "pid"
	stateFile  = "state.json"
	pkiDir     = "pki"
)

// Dir is an open data folder. Its lock is held from Open or OpenTemp until Close.
type Dir struct {
	path       string
	ephemeral  bool
	cleanupErr error
	created    []string // the folders that Open has created, outermost first
	lock       *os.File
	root       *os.Root // leads to the folder even if that is renamed; nil if OpenTemp has made it
	close      func() error
}

func newDir(path string, lock *os.File, ephemeral bool) *Dir {
	d := &Dir{path: path, lock: lock, ephemeral: ephemeral}
	d.close = sync.OnceValue(d.unlockOrRemove)
	return d
}

// Path returns the absolute path of the folder.
func (d *Dir) Path() string { return d.path }

// Join returns the absolute path of a file or folder in the folder.
func (d *Dir) Join(elem ...string) string {
	return filepath.Join(append([]string{d.path}, elem...)...)
}

// Ephemeral reports whether Close removes the folder.
func (d *Dir) Ephemeral() bool { return d.ephemeral }

// OtherDisk says how to have such a folder on another disk, for errors about too little space.
func (d *Dir) OtherDisk() string {
	if d.ephemeral {
		return "set " + tempVariable + " to a folder on a larger disk"
	}
	return "choose a --data-dir on a larger disk"
}

// CleanupError returns why OpenTemp could not remove the folders of killed processes, or
// nil. It is only a warning: the folder itself is usable.
func (d *Dir) CleanupError() error { return d.cleanupErr }

// Close unlocks the folder, and removes it if it is ephemeral. Everything that writes into
// it must have ended. Further calls return the error of the first one.
func (d *Dir) Close() error { return d.close() }

// Discard is Close after a failed start: it also removes a folder that Open has created,
// with its content. A folder that existed before stays.
func (d *Dir) Discard() error {
	d.ephemeral = d.ephemeral || len(d.created) > 0
	err := d.Close()
	for _, dir := range slices.Backward(d.created) {
		_ = os.Remove(dir) // fails if another start uses it now, as it should
	}
	return err
}

func (d *Dir) unlockOrRemove() error {
	pidErr := d.closeRoot() // first: Windows removes no folder that is open
	if d.ephemeral {
		if err := removeLockedDir(d.path, d.lock); err != nil {
			return fmt.Errorf("temporary folder %s could not be removed (%w): remove it manually", d.path, err)
		}
		return nil
	}
	switch d.Loss() {
	case Removed:
		return errors.Join(fmt.Errorf("data folder %s was removed while it was in use: its data is lost unless you have a snapshot or a backup", d.path), d.lock.Close())
	case Renamed:
		return errors.Join(fmt.Errorf("data folder %s was renamed while it was in use: rename it back, or start with its new path", d.path), pidErr, d.lock.Close())
	}
	err := durable.Remove(d.Join(pidFile), false)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	// An older version does not replace what writeOwner has written.
	if err := errors.Join(err, d.lock.Truncate(0), d.lock.Close()); err != nil {
		return explainError(d.path, "unlock it", err)
	}
	return nil
}

// closeRoot makes sure that a folder that was renamed does not count as crashed.
func (d *Dir) closeRoot() error {
	if d.root == nil {
		return nil
	}
	var err error
	if d.Loss() == Renamed {
		if err = d.root.Remove(pidFile); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	_ = d.root.Close() // nothing is written through it
	return err
}

// Touch sets the times of all that is in the folder to now. Programs that clean the folder for
// temporary files remove what was not used for days.
func (d *Dir) Touch() error {
	var errs []error
	now := time.Now()
	_ = filepath.WalkDir(d.path, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type()&fs.ModeSymlink == 0 {
			err = os.Chtimes(path, now, now)
		}
		if !errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
			errs = append(errs, err)
		}
		return nil
	})
	return errors.Join(errs...)
}

// What Loss returns for a folder that is not where it was.
const (
	Removed = "removed"
	Renamed = "renamed" // or replaced by a copy
)

// Loss returns what was done to the folder after it was opened: Removed, Renamed, or "". Another process
// may have created it again.
func (d *Dir) Loss() string {
	held, err := d.lock.Stat()
	if err != nil {
		return ""
	}
	found, err := os.Stat(d.Join(lockFile))
	switch {
	case err == nil && os.SameFile(held, found), err != nil && !errors.Is(err, fs.ErrNotExist):
		return ""
	case isUnlinked(held):
		return Removed
	}
	return Renamed
}

// removeLockedDir removes a folder whose lock the caller holds, and releases the lock. It
// removes the lock file after all other files: from then on another process may create
// and lock it again, and only an empty folder may be removed. The marker is the last before
// it, so that a folder whose removal is interrupted is still found.
func removeLockedDir(path string, lock *os.File) (err error) {
	defer func() {
		if closeErr := lock.Close(); err == nil && !errors.Is(closeErr, os.ErrClosed) {
			err = closeErr
		}
	}()
	entries, err := readDir(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range removalOrder(entries) {
		// "ctrlplane status" may read it.
		if err := inuse.Retry(func() error { return os.RemoveAll(filepath.Join(path, name)) }); err != nil {
			return err
		}
	}
	// On Windows a removed file keeps its name until it is closed.
	if err := lock.Close(); err != nil {
		return err
	}
	return inuse.Retry(func() error { return removeEmptyDir(path) })
}

// removalOrder returns the names of a folder's entries, those that it is recognized by last.
func removalOrder(entries []fs.DirEntry) []string {
	var names, last []string
	for _, e := range entries {
		if e.Name() == markerFile || e.Name() == lockFile { // sorted so by ReadDir
			last = append(last, e.Name())
		} else {
			names = append(names, e.Name())
		}
	}
	return append(names, last...)
}

// removeEmptyDir removes a folder that is not locked, unless another process locks it.
func removeEmptyDir(path string) (err error) {
	for range tempAttempts {
		err = os.Remove(path)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		entries, readErr := os.ReadDir(path)
		switch {
		case readErr != nil || len(entries) == 0: // another process has removed its lock file, or the folder
		case slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == lockFile }):
			return errLockedAgain
		default:
			return err
		}
	}
	return err
}

// readDir waits for other processes that try to remove the folder, which only Windows requires.
func readDir(path string) (entries []fs.DirEntry, err error) {
	err = inuse.Retry(func() error {
		entries, err = os.ReadDir(path)
		return err
	})
	return entries, err
}

// errLockedAgain says that another process has locked a folder that was about to be
// removed, and uses it now.
var errLockedAgain = errors.New("another process uses it now")

// isHousekeepingFile reports whether a data folder that has no marker yet may contain
// the file.
func isHousekeepingFile(name string) bool {
	return name == lockFile || name == pidFile || strings.HasPrefix(name, durable.TempPrefix)
}
