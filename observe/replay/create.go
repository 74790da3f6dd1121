package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
)

// Create creates the file of a bounded recording, which only its owner can read. It
// replaces nothing: an earlier recording may still be written.
func Create(path string) (*os.File, error) {
	file, err := create(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, fileerror.WithoutPath(err))
	}
	return file, nil
}

func create(path string) (*os.File, error) {
	if _, err := os.Lstat(olderFile(path)); !errors.Is(err, fs.ErrNotExist) {
		if err == nil {
			err = existsError(olderFile(path), filepath.Base(olderFile(path)))
		}
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, existsError(path, "it")
	}
	return file, err
}

// existsError says what to do about a file that exists, which name is.
func existsError(path, name string) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("%s exists and is not a file: choose another name", name)
	case err == nil && isRecording(path):
		return fmt.Errorf("%s exists, and may still be written: choose another name, or move the recording away", name)
	case err == nil:
		return fmt.Errorf("%s exists and is not a recording: choose another name", name)
	}
	return err
}

func isRecording(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.Size() == 0 { // nothing was written to it so far
		return true
	}
	h, err := headerOf(f)
	return err == nil || h.Kind == headerKind
}
