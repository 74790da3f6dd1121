package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/filelock"
	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

// What the name of a temporary folder begins with.
const (
	tempPrefix   = "ctrlplane-ephemeral-" // an ephemeral data folder
	LessonPrefix = "ctrlplane-learn-"     // what a lesson has beside its control plane
	JobLogPrefix = "ctrlplane-job-log-"   // what runs with several versions of Kubernetes have for the log of a CI job
)

var tempPrefixes = []string{tempPrefix, LessonPrefix, JobLogPrefix}

// Each failed attempt was undone by a different process that was just starting, so
// that this many cannot all fail.
const tempAttempts = 1000

// OpenTemp creates and locks a new ephemeral data folder, after it has removed the temporary folders of
// this user whose process has ended. Any number of processes may call it at the same time.
func OpenTemp() (*Dir, error) {
	parent, err := tempParent()
	if err != nil {
		return nil, err
	}
	leftover := removeAbandonedDirs(parent)
	d, err := openTempDir(parent, tempPrefix)
	if err == nil {
		d.cleanupErr = leftover
	}
	return d, err
}

// OpenTempFiles creates and locks a new folder for other files than those of a control plane. Close removes it, or the
// next OpenTemp if the process is killed. Its name begins with prefix, one of those above.
func OpenTempFiles(prefix string) (*Dir, error) {
	parent, err := tempParent()
	if err != nil {
		return nil, err
	}
	return openTempDir(parent, prefix)
}

func tempParent() (string, error) {
	parent, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", fmt.Errorf("folder for temporary files: %w: set %s", err, tempVariable)
	}
	return parent, nil
}

func openTempDir(parent, prefix string) (*Dir, error) {
	for range tempAttempts {
		d, err := makeTempDir(parent, prefix)
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, errRemovedByOther) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("temporary folder in %s: another program removes each new folder: set %s to a folder that only you use", parent, tempVariable)
}

// errRemovedByOther says that a concurrent OpenTemp has removed a folder that was created
// but not yet locked, as if its process had been killed.
var errRemovedByOther = errors.New("removed by another process")

func makeTempDir(parent, prefix string) (*Dir, error) {
	path, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, explainTempError(parent, err)
	}
	lock, err := tryLock(path, true)
	if errors.Is(err, filelock.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
		return nil, errRemovedByOther
	}
	if err != nil {
		_ = os.Remove(filepath.Join(path, lockFile)) // the first error matters more
		_ = os.Remove(path)
		return nil, explainTempError(parent, err)
	}
	err = writeOwner(path, lock)
	if err == nil {
		home, _ := stateRoot() // without one it is of all
		err = writeMarker(path, marker{Ephemeral: true, Home: home})
	}
	if err != nil {
		_ = removeLockedDir(path, lock) // the first error matters more
		return nil, explainTempError(parent, err)
	}
	return newDir(path, lock, true), nil
}

// removeAbandonedDirs removes the temporary folders of killed processes.
func removeAbandonedDirs(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return explainTempError(parent, err)
	}
	var left []string
	var first error
	for _, e := range entries {
		if !slices.ContainsFunc(tempPrefixes, func(prefix string) bool { return strings.HasPrefix(e.Name(), prefix) }) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		if err := removeAbandonedDir(path); err != nil {
			left = append(left, path)
			if first == nil {
				first = err
			}
		}
	}
	if first != nil {
		return fmt.Errorf("the temporary folder of a killed process could not be removed (%w): remove manually: %s", first, strings.Join(left, " "))
	}
	return nil
}

// removeAbandonedDir removes a temporary folder of this user that no process uses.
func removeAbandonedDir(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() || !isPrivateFile(info) {
		return nil
	}
	lock, err := tryLock(path, false) // without a lock file it may be a folder of the user
	if errors.Is(err, filelock.ErrHeld) || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	ours, err := wasEphemeral(path)
	if err != nil || !ours {
		if closeErr := lock.Close(); err == nil {
			err = closeErr
		}
		return err
	}
	if err := removeLockedDir(path, lock); !errors.Is(err, errLockedAgain) {
		return err
	}
	return nil
}

// wasEphemeral reports whether the folder, whose lock is held, was ephemeral. A folder
// without a readable marker was, because its process was killed while it created the folder.
func wasEphemeral(path string) (bool, error) {
	data, err := inuse.ReadFile(filepath.Join(path, markerFile))
	if err == nil {
		var m marker
		return json.Unmarshal(data, &m) != nil || m.Ephemeral, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	entries, err := readDir(path)
	if err != nil {
		return false, err
	}
	foreign := func(e fs.DirEntry) bool { return !isHousekeepingFile(e.Name()) }
	return !slices.ContainsFunc(entries, foreign), nil
}

func explainTempError(parent string, err error) error {
	const choose = "or set " + tempVariable + " to another folder"
	switch {
	case fileerror.IsDiskFull(err):
		return fmt.Errorf("temporary folder in %s: the disk is full (%w): free space, %s", parent, err, choose)
	case fileerror.IsNotWritable(err):
		return fmt.Errorf("temporary folder in %s cannot be created (%w): make %s writable, %s", parent, err, parent, choose)
	}
	return fmt.Errorf("temporary folder in %s: %w: fix the cause, %s", parent, err, choose)
}

// EphemeralDirs returns the ephemeral data folders of this user, also those of killed processes.
func EphemeralDirs() ([]string, error) {
	parent, err := tempParent()
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(parent, tempPrefix+"*"))
	if err != nil {
		return nil, explainTempError(parent, err)
	}
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Lstat(path)
		return err != nil || !info.IsDir() || !isPrivateFile(info) // removed meanwhile, or of another user
	}), nil
}
