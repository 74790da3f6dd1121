package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/adrg/xdg"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
)

// StateFolderError says that the platform's state folder, which has the named data folders,
// cannot be used. Data folders elsewhere, such as ephemeral ones, can.
type StateFolderError struct {
	Path string // empty if there is none
	Err  error
}

func (e *StateFolderError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("where to keep data is not known, because %v: set it, or XDG_STATE_HOME to a folder of yours", e.Err)
	}
	return fmt.Sprintf("state folder %s cannot be entered (%v): set XDG_STATE_HOME to a folder of yours", e.Path, e.Err)
}

func (e *StateFolderError) Unwrap() error { return e.Err }

// IsStateFolderError reports whether an error is, or wraps, a *StateFolderError.
func IsStateFolderError(err error) bool { return errors.As(err, new(*StateFolderError)) }

// StateFolder returns the folder of the named data folders, which may not exist yet. The error
// is a *StateFolderError if this user cannot enter it.
func StateFolder() (string, error) {
	root, err := stateRoot()
	if err != nil {
		return "", err
	}
	return root, checkStateFolder(root)
}

// checkStateFolder fails if the folder exists, or a folder above it, and cannot be entered.
func checkStateFolder(root string) error {
	_, err := os.Lstat(filepath.Join(root, markerFile)) // a folder that may only be listed is of no use
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return &StateFolderError{root, fileerror.WithoutPath(err)}
}

func stateRoot() (string, error) {
	xdgMutex.Lock()
	defer xdgMutex.Unlock()
	xdg.Reload()
	switch {
	case !hasHome():
		return "", &StateFolderError{Err: errors.New("HOME is not set")}
	case !filepath.IsAbs(xdg.StateHome):
		return "", &StateFolderError{Err: errors.New("HOME is not an absolute path")}
	}
	return filepath.Join(xdg.StateHome, "ctrlplane"), nil
}

// hasHome reports whether xdg.StateHome is not below "/" for lack of a home folder.
func hasHome() bool {
	return runtime.GOOS == "windows" || os.Getenv("HOME") != "" || filepath.IsAbs(os.Getenv("XDG_STATE_HOME"))
}
