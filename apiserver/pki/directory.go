package pki

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/fileerror"
)

// directory is the folder while Ensure works in it.
type directory struct {
	path      string
	now       time.Time
	syncFiles bool

	createdDir   bool
	createdFiles []string // paths
	needsSync    bool     // whether a file was written that must survive a crash of the machine
}

func (d *directory) filePath(name string) string { return filepath.Join(d.path, name) }

// prepare creates the folder. If it exists, prepare denies access to other users and
// removes incomplete files that a crash has left.
func (d *directory) prepare() error {
	err := os.Mkdir(d.path, 0o700)
	if err == nil {
		d.createdDir = true
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return withAdvice(err)
	}
	info, err := os.Stat(d.path)
	if err != nil {
		return withAdvice(err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a file, but the certificates need a folder of this name: move the file", d.path)
	}
	if err := restrictMode(d.path, info); err != nil {
		return err
	}
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return withAdvice(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), durable.TempPrefix) {
			continue
		}
		if err := os.Remove(d.filePath(e.Name())); err != nil {
			return withAdvice(err)
		}
	}
	return nil
}

// removeCreated removes what a failed Ensure has created. It ignores errors, so that
// the first one is reported.
func (d *directory) removeCreated() {
	for _, path := range slices.Backward(d.createdFiles) {
		_ = os.Remove(path)
	}
	if d.createdDir {
		_ = os.Remove(d.path)
	}
}

// readFile returns nil for a file that is missing or empty. A crash of the machine may
// leave a file empty that was not synced.
func (d *directory) readFile(name string) ([]byte, error) {
	data, err := os.ReadFile(d.filePath(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, withAdvice(err)
	}
	return data, nil
}

// readSecretFile is readFile for a file that only its owner may access.
func (d *directory) readSecretFile(name string) ([]byte, error) {
	data, err := d.readFile(name)
	if err != nil || data == nil {
		return nil, err
	}
	info, err := os.Stat(d.filePath(name))
	if err != nil {
		return nil, withAdvice(err)
	}
	return data, restrictMode(d.filePath(name), info)
}

// writeFile replaces a file atomically. A file that cannot be created again must be
// durable.
func (d *directory) writeFile(name string, data []byte, durably bool) error {
	durably = durably && d.syncFiles
	_, err := os.Lstat(d.filePath(name))
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := durable.Replace(d.filePath(name), durable.TempPrefix, data, durably, nil); err != nil {
		return withAdvice(err)
	}
	if isNew {
		d.createdFiles = append(d.createdFiles, d.filePath(name))
	}
	d.needsSync = d.needsSync || durably
	return nil
}

// sync makes the names of durable files durable; writeFile has synced their content.
func (d *directory) sync() error {
	if !d.needsSync {
		return nil
	}
	err := durable.SyncDir(d.path)
	if err == nil && d.createdDir {
		err = durable.SyncDir(filepath.Dir(d.path))
	}
	if err != nil {
		return withAdvice(err)
	}
	return nil
}

// restrictMode denies other users access to a file or folder.
func restrictMode(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" {
		return nil
	}
	if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
		return fmt.Errorf("%s is accessible to other users, and its mode cannot be changed: %w: make your user its owner", path, err)
	}
	return nil
}

// withAdvice adds what to do to an error of the file system.
func withAdvice(err error) error {
	switch {
	case fileerror.IsDiskFull(err):
		return fmt.Errorf("%w: free space on the disk", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: make it readable and writable by your user", err)
	}
	return err
}
