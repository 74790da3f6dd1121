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
	"syscall"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/durable"
)

// store is the folder during one Ensure.
type store struct {
	dir     string
	now     time.Time
	durable bool

	madeDir bool
	made    []string // paths of the files that were not there before
	unsaved bool     // whether a file has to survive a crash of the machine
}

func (s *store) path(name string) string { return filepath.Join(s.dir, name) }

// open makes the folder, or closes it to other users and removes what a crash
// left of files that were being written.
func (s *store) open() error {
	err := os.Mkdir(s.dir, 0o700)
	if err == nil {
		s.madeDir = true
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return explain(err)
	}
	info, err := os.Stat(s.dir)
	if err != nil {
		return explain(err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a file, but the folder of the certificates has to be there: move it away", s.dir)
	}
	if err := tighten(s.dir, info); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return explain(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), durable.Prefix) {
			continue
		}
		if err := os.Remove(s.path(e.Name())); err != nil {
			return explain(err)
		}
	}
	return nil
}

// undo removes what a failed Ensure made. Its errors are dropped: the one that
// made Ensure fail is worth more.
func (s *store) undo() {
	for _, path := range slices.Backward(s.made) {
		_ = os.Remove(path)
	}
	if s.madeDir {
		_ = os.Remove(s.dir)
	}
}

// read returns nil for a file that is missing, or empty as a crash of the
// machine may leave one that was not synced.
func (s *store) read(name string) ([]byte, error) {
	data, err := os.ReadFile(s.path(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, explain(err)
	}
	return data, nil
}

// readSecret is read for a file that only its owner may read.
func (s *store) readSecret(name string) ([]byte, error) {
	data, err := s.read(name)
	if err != nil || data == nil {
		return nil, err
	}
	info, err := os.Stat(s.path(name))
	if err != nil {
		return nil, explain(err)
	}
	return data, tighten(s.path(name), info)
}

// write replaces a file at once. What cannot be made again has to be durable.
func (s *store) write(name string, data []byte, lasting bool) error {
	lasting = lasting && s.durable
	_, err := os.Lstat(s.path(name))
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := durable.Replace(s.path(name), durable.Prefix, data, lasting, nil); err != nil {
		return explain(err)
	}
	if isNew {
		s.made = append(s.made, s.path(name))
	}
	s.unsaved = s.unsaved || lasting
	return nil
}

// sync makes the names of durable files as durable as their content.
func (s *store) sync() error {
	if !s.unsaved || runtime.GOOS == "windows" { // which cannot, and need not
		return nil
	}
	dir, err := os.Open(s.dir)
	if err != nil {
		return explain(err)
	}
	err = dir.Sync()
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return explain(err)
	}
	return nil
}

// tighten closes a file or folder to other users.
func tighten(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" {
		return nil
	}
	if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
		return fmt.Errorf("%s is open to other users and cannot be closed to them (%w): make it yours", path, err)
	}
	return nil
}

// explain adds what to do to an error of the file system, which names the file.
func explain(err error) error {
	const winerrorDiskFull = syscall.Errno(112)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), runtime.GOOS == "windows" && errors.Is(err, winerrorDiskFull):
		return fmt.Errorf("%w: the disk is full, make room", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: make it yours, readable and writable", err)
	}
	return fmt.Errorf("%w: look into that", err)
}
