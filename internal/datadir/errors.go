package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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

// CheckListSeparator fails for a folder whose kubeconfig KUBECONFIG cannot name: as that is a list of paths, programs would
// find no file, and use another cluster. Without a path it checks the folder for temporary files.
func CheckListSeparator(path string) error {
	what, remedy := "data folder", "choose a --data-dir"
	if path == "" {
		what, remedy, path = "folder for temporary files", "set "+tempVariable+" to one", os.TempDir()
	}
	abs, err := filepath.Abs(path)
	if sep := string(filepath.ListSeparator); err == nil && strings.Contains(abs, sep) {
		return fmt.Errorf("%s %s: KUBECONFIG cannot name a file there, because %q separates its files: %s without %[3]q", what, abs, sep, remedy)
	}
	return err
}
