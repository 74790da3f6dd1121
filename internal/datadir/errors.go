package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
)

// explainError returns an error of the file system as one line that says what failed, why,
// and what to do.
func explainError(path, doing string, err error) error {
	const choose = "or choose another --data-dir"
	remedy := "make it writable"
	if errors.Is(err, fs.ErrPermission) && strings.HasPrefix(doing, "read ") {
		remedy = "give this user access to it"
	}
	if root, rootErr := stateRoot(); rootErr == nil && filepath.Dir(path) == root {
		if err := checkStateFolder(root); err != nil {
			return err
		}
		remedy += ", set XDG_STATE_HOME to another folder"
	}
	switch {
	case fileerror.IsDiskFull(err):
		return fmt.Errorf("data folder %s: the disk is full (%w): free space, %s", path, err, choose)
	case fileerror.IsNotWritable(err):
		return fmt.Errorf("data folder %s cannot be used (%w): %s, %s", path, err, remedy, choose)
	}
	return fmt.Errorf("data folder %s: cannot %s: %w: fix the cause, %s", path, doing, err, choose)
}
