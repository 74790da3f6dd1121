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
)

const (
	tempPrefix = "ctrlplane-ephemeral-"
	// Each attempt that fails was undone by a different process that was just
	// starting, so this many never fail.
	tempAttempts = 1000
)

// OpenTemp makes and locks a new ephemeral folder, after it removed those of this
// user whose process is gone. Any number of processes may call it at once.
func OpenTemp() (*Dir, error) {
	parent, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("folder for temporary files: %w: set TMPDIR", err)
	}
	leftover := removeAbandonedDirs(parent)
	for range tempAttempts {
		d, err := makeTempDir(parent)
		if err == nil {
			d.cleanupErr = leftover
			return d, nil
		}
		if !errors.Is(err, errRemovedByOther) {
			return nil, err
		}
	}
	return nil, fmt.Errorf("temporary folder in %s: each one made was removed again: set TMPDIR to a folder that is yours alone", parent)
}

// errRemovedByOther says that a concurrent Temp took a folder that was made but not
// yet locked for one that a crash had left.
var errRemovedByOther = errors.New("reaped")

func makeTempDir(parent string) (*Dir, error) {
	path, err := os.MkdirTemp(parent, tempPrefix)
	if err != nil {
		return nil, explainTempError(parent, err)
	}
	lock, err := tryLock(path, true)
	if errors.Is(err, errLockHeld) || errors.Is(err, fs.ErrNotExist) {
		return nil, errRemovedByOther
	}
	if err != nil {
		_ = os.Remove(filepath.Join(path, lockFile)) // the first error is worth more
		_ = os.Remove(path)
		return nil, explainTempError(parent, err)
	}
	err = writePID(path)
	if err == nil {
		err = writeMarker(path, marker{Ephemeral: true})
	}
	if err != nil {
		_ = removeLockedDir(path, lock) // the first error is worth more
		return nil, explainTempError(parent, err)
	}
	return newDir(path, lock, true), nil
}

// removeAbandonedDirs removes what crashed runs left in the folder for temporary files.
func removeAbandonedDirs(parent string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return explainTempError(parent, err)
	}
	var left []string
	var first error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
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
		return fmt.Errorf("a crashed run's temporary folder could not be removed (%w): remove by hand: %s", first, strings.Join(left, " "))
	}
	return nil
}

// removeAbandonedDir removes an ephemeral folder of this user that no process has.
func removeAbandonedDir(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() || !private(info) {
		return nil
	}
	// Its process died before it made the lock file, or is about to make it
	// and will find the folder gone. Not being empty is the usual case.
	if os.Remove(path) == nil {
		return nil
	}
	lock, err := tryLock(path, false)
	if errors.Is(err, errLockHeld) || errors.Is(err, fs.ErrNotExist) {
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

// wasEphemeral reports whether the folder, whose lock is held, was ephemeral. One
// that a crash left without a readable marker was.
func wasEphemeral(path string) (bool, error) {
	data, err := os.ReadFile(filepath.Join(path, markerFile))
	if err == nil {
		var m marker
		return json.Unmarshal(data, &m) != nil || m.Ephemeral, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return false, err
	}
	foreign := func(e fs.DirEntry) bool { return !isHousekeepingFile(e.Name()) }
	return !slices.ContainsFunc(entries, foreign), nil
}

func explainTempError(parent string, err error) error {
	const choose = "or set TMPDIR to another folder"
	switch {
	case diskFull(err):
		return fmt.Errorf("temporary folder in %s: the disk is full (%w): make room, %s", parent, err, choose)
	case errors.Is(err, fs.ErrPermission) || readOnly(err):
		return fmt.Errorf("temporary folder in %s cannot be made (%w): make %s writable, %s", parent, err, parent, choose)
	}
	return fmt.Errorf("temporary folder in %s: %w: look into that, %s", parent, err, choose)
}

// RunningEphemeralDirs lists the ephemeral folders of this user that a process has now.
func RunningEphemeralDirs() ([]string, error) {
	parent, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("folder for temporary files: %w: set TMPDIR", err)
	}
	paths, err := filepath.Glob(filepath.Join(parent, tempPrefix+"*"))
	if err != nil {
		return nil, explainTempError(parent, err)
	}
	var running []string
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || !private(info) {
			continue // gone meanwhile, or another's
		}
		if held, err := isHeld(path); err == nil && held {
			running = append(running, path)
		}
	}
	return running, nil
}
