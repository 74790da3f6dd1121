package datadir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/durable"
)

// Open locks a data folder, which it creates, with its parents, if it does not exist.
// version is the highest format that the caller can read, and the one that it writes:
// a folder with a higher one is rejected. If the folder is in use the error is a
// *LockedError. A failed Open removes what it has created. The context ends the wait for a lock
// whose owner is not known.
func Open(ctx context.Context, path string, version int) (*Dir, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("data folder %s: %w: give an absolute --data-dir", path, err)
	}
	made, err := durable.MkdirAll(path, true)
	var d *Dir
	if err != nil {
		err = explainError(path, "create it", err)
	} else {
		d, err = lockAndPrepare(ctx, path, version)
	}
	if err != nil {
		for _, dir := range slices.Backward(made) {
			_ = os.Remove(dir) // fails if another start uses it now, as it should
		}
		return nil, err
	}
	d.created = made
	return d, nil
}

func lockAndPrepare(ctx context.Context, path string, version int) (*Dir, error) {
	if err := checkOwnership(path); err != nil {
		return nil, err
	}
	lock, err := lockFolder(ctx, path)
	if err != nil {
		return nil, err
	}
	was, marked, err := readMarker(path)
	if err == nil {
		err = prepareDir(path, lock, was, marked, version)
	}
	var root *os.Root
	if err == nil {
		if root, err = os.OpenRoot(path); err != nil {
			err = explainError(path, "open it", err)
		}
	}
	if err != nil {
		undoOpen(path, lock, marked)
		return nil, err
	}
	d := newDir(path, lock, false)
	d.root = root
	return d, nil
}

// prepareDir checks and prepares a folder whose lock is held.
func prepareDir(path string, lock *os.File, was marker, marked bool, version int) error {
	// Again, because the folder may have changed before it was locked.
	if err := checkOwnership(path); err != nil {
		return err
	}
	state, err := readState(path)
	if marked && was.Format > version {
		return newNewerFormatError(path, was.Format, version, state)
	}
	if err != nil {
		return err
	}
	if err := restrictPermissions(path); err != nil {
		return err
	}
	if err := removePartialFiles(path); err != nil {
		return err
	}
	if err := writeOwner(path, lock); err != nil {
		return explainError(path, "write "+pidFile, err)
	}
	if now := (marker{Format: version}); !marked || was != now {
		if err := writeMarker(path, now); err != nil {
			return explainError(path, "write "+markerFile, err)
		}
	}
	return nil
}

// NewerFormatError says that a newer version has written a data folder.
type NewerFormatError struct{ text string }

func (e *NewerFormatError) Error() string { return e.text }

func newNewerFormatError(path string, format, version int, s State) error {
	by := ""
	if s.KubernetesVersion != "" {
		by = " for Kubernetes " + s.KubernetesVersion
	}
	return &NewerFormatError{fmt.Sprintf("data folder %s was written by a newer ctrlplane%s (format %d, this one reads up to %d): upgrade ctrlplane, or choose another --name or --data-dir", path, by, format, version)}
}

// undoOpen unlocks the folder after a failed Open. Without keep it removes what Open has
// written into it.
func undoOpen(path string, lock *os.File, keep bool) {
	// The error that made Open fail matters more than these.
	_ = os.Remove(filepath.Join(path, pidFile))
	_ = lock.Truncate(0)
	if !keep {
		_ = os.Remove(filepath.Join(path, markerFile))
		_ = os.Remove(filepath.Join(path, lockFile))
	}
	_ = lock.Close()
}

// checkOwnership rejects a path that is not a data folder and not an empty folder.
func checkOwnership(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return explainError(path, "read it", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("data folder %s is a file: choose another --data-dir", path)
	}
	entries, err := readDir(path)
	if err != nil {
		return explainError(path, "list it", err)
	}
	for _, e := range entries {
		if e.Name() == markerFile {
			return nil
		}
	}
	for _, e := range entries {
		if !isHousekeepingFile(e.Name()) && !isCopiedPKI(path, e.Name()) {
			return fmt.Errorf("data folder %s contains other files, such as %s: choose a --data-dir that is new, empty or was created by ctrlplane", path, e.Name())
		}
	}
	return nil
}

// isCopiedPKI reports whether an entry of a folder is a copy of another control plane's
// certificates, which processes on one etcd cluster share. Other programs call their
// folders pki, too, and have no key for service account tokens there.
func isCopiedPKI(path, name string) bool {
	if name != pkiDir {
		return false
	}
	_, err := os.Stat(filepath.Join(path, name, "sa.key"))
	return err == nil
}

// restrictPermissions makes the folder inaccessible to other users.
func restrictPermissions(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return explainError(path, "read it", err)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("data folder %s is accessible to other users, and its permissions cannot be changed (%w): choose a --data-dir that you own", path, err)
	}
	return nil
}

// removePartialFiles removes files that a killed process has not finished writing.
func removePartialFiles(path string) error {
	entries, err := readDir(path)
	if err != nil {
		return explainError(path, "list it", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), durable.TempPrefix) {
			continue
		}
		if err := os.Remove(filepath.Join(path, e.Name())); err != nil {
			return explainError(path, "remove "+e.Name(), err)
		}
	}
	return nil
}
