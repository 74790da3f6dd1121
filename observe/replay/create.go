package replay

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// Create creates the file of a bounded recording, which only its owner can read. It
// replaces an earlier recording, but no other file.
func Create(path string) (*os.File, error) {
	file, err := create(path)
	if err != nil {
		return nil, usage.Errorf("%s: %w", path, withoutPath(err))
	}
	return file, nil
}

func create(path string) (*os.File, error) {
	if err := checkReplaceable(path); err != nil {
		return nil, err
	}
	if err := os.Remove(olderFile(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
}

// checkReplaceable fails unless the file and the one that it may continue are recordings,
// empty, or missing.
func checkReplaceable(path string) error {
	for _, name := range []string{path, olderFile(path)} {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return errors.New("it exists and is not a file: choose another name")
		}
		if info.Size() > 0 && !isRecording(name) {
			return fmt.Errorf("%s exists and is not a recording: choose another name", info.Name())
		}
	}
	return nil
}

func isRecording(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	h, err := headerOf(f)
	return err == nil || h.Kind == headerKind
}
