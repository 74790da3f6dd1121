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

// directory is the folder during one Ensure.
type directory struct {
	path      string
	now       time.Time
	syncFiles bool

	createdDir   bool
	createdFiles []string // paths of the files that were not there before
	needsSync    bool     // whether a file has to survive a crash of the machine
}

func (s *directory) filePath(name string) string { return filepath.Join(s.path, name) }

// prepare makes the folder, or closes it to other users and removes what a crash
// left of files that were being written.
func (s *directory) prepare() error {
	err := os.Mkdir(s.path, 0o700)
	if err == nil {
		s.createdDir = true
		return nil
	}
	if !errors.Is(err, fs.ErrExist) {
		return withAdvice(err)
	}
	info, err := os.Stat(s.path)
	if err != nil {
		return withAdvice(err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is a file, but the folder of the certificates has to be there: move it away", s.path)
	}
	if err := restrictMode(s.path, info); err != nil {
		return err
	}
	entries, err := os.ReadDir(s.path)
	if err != nil {
		return withAdvice(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), durable.TempPrefix) {
			continue
		}
		if err := os.Remove(s.filePath(e.Name())); err != nil {
			return withAdvice(err)
		}
	}
	return nil
}

// removeCreated removes what a failed Ensure made. Its errors are dropped: the one that
// made Ensure fail is worth more.
func (s *directory) removeCreated() {
	for _, path := range slices.Backward(s.createdFiles) {
		_ = os.Remove(path)
	}
	if s.createdDir {
		_ = os.Remove(s.path)
	}
}

// readFile returns nil for a file that is missing, or empty as a crash of the
// machine may leave one that was not synced.
func (s *directory) readFile(name string) ([]byte, error) {
	data, err := os.ReadFile(s.filePath(name))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, withAdvice(err)
	}
	return data, nil
}

// readSecretFile is read for a file that only its owner may read.
func (s *directory) readSecretFile(name string) ([]byte, error) {
	data, err := s.readFile(name)
	if err != nil || data == nil {
		return nil, err
	}
	info, err := os.Stat(s.filePath(name))
	if err != nil {
		return nil, withAdvice(err)
	}
	return data, restrictMode(s.filePath(name), info)
}

// writeFile replaces a file at once. What cannot be made again has to be durable.
func (s *directory) writeFile(name string, data []byte, lasting bool) error {
	lasting = lasting && s.syncFiles
	_, err := os.Lstat(s.filePath(name))
	isNew := errors.Is(err, fs.ErrNotExist)
	if err := durable.Replace(s.filePath(name), durable.TempPrefix, data, lasting, nil); err != nil {
		return withAdvice(err)
	}
	if isNew {
		s.createdFiles = append(s.createdFiles, s.filePath(name))
	}
	s.needsSync = s.needsSync || lasting
	return nil
}

// sync makes the names of durable files as durable as their content.
func (s *directory) sync() error {
	if !s.needsSync || runtime.GOOS == "windows" { // which cannot, and need not
		return nil
	}
	dir, err := os.Open(s.path)
	if err != nil {
		return withAdvice(err)
	}
	err = dir.Sync()
	if closeErr := dir.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return withAdvice(err)
	}
	return nil
}

// restrictMode closes a file or folder to other users.
func restrictMode(path string, info fs.FileInfo) error {
	if info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" {
		return nil
	}
	if err := os.Chmod(path, info.Mode().Perm()&0o700); err != nil {
		return fmt.Errorf("%s is open to other users and cannot be closed to them (%w): make it yours", path, err)
	}
	return nil
}

// withAdvice adds what to do to an error of the file system, which names the file.
func withAdvice(err error) error {
	const winerrorDiskFull = syscall.Errno(112)
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT), runtime.GOOS == "windows" && errors.Is(err, winerrorDiskFull):
		return fmt.Errorf("%w: the disk is full, make room", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: make it yours, readable and writable", err)
	}
	return fmt.Errorf("%w: look into that", err)
}
