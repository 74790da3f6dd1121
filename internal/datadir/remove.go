package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/words"
)

// Remove removes a data folder with its content. If a process uses it, the error is a
// *LockedError; without a data folder at the path, a *NotFoundError. A folder with a marker
// of another program or with other files is not touched.
func Remove(ctx context.Context, path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	if err := checkRemovable(path); err != nil {
		return err
	}
	lock, err := lockFolder(ctx, path)
	if err != nil {
		return err
	}
	// Again, because the folder may have changed before it was locked.
	if err := checkRemovable(path); err != nil {
		return errors.Join(err, lock.Close())
	}
	if err := removeLockedDir(path, lock); err != nil {
		return explainError(path, "remove it", err)
	}
	return nil
}

// checkRemovable rejects a folder that is not a data folder or that contains more than one.
func checkRemovable(path string) error {
	m, marked, err := readMarker(path)
	switch {
	case err != nil:
		return fmt.Errorf("%w, or remove the folder yourself", err)
	case !marked:
		return &NotFoundError{path}
	case m.Format == 0 && !m.Ephemeral:
		return fmt.Errorf("folder %s: %s is not the one of a data folder: nothing was deleted: check --data-dir", path, markerFile)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return explainError(path, "list it", err)
	}
	state, err := readState(path)
	if err != nil {
		state = State{} // a damaged folder can be removed, too
	}
	var others []string
	for _, e := range entries {
		if !isOwnEntry(e.Name()) && !isLogFile(filepath.Join(path, e.Name()), state.LogFile) {
			others = append(others, e.Name())
		}
	}
	if len(others) > 0 {
		return fmt.Errorf("data folder %s contains %s, which ctrlplane has not created: nothing was deleted: move that elsewhere, or check --data-dir", path, words.Quote(others))
	}
	return nil
}

// ownEntries matches the names of what a control plane writes into its data folder, some of
// them in other packages: a log is rotated, kubeconfig.NAMESPACE.NAME is that of a
// ServiceAccount, and .kubeconfig.new-* is not finished.
var ownEntries = regexp.MustCompile(`^(ctrlplane\.json|lock|pid|state\.json|pki|etcd|restore(-owner)?|unfinished(-[0-9]+)?\.snapshot|kubeconfig(\.[a-z0-9-]+\.[a-z0-9.-]+)?|\.kubeconfig(\..+)?\.new-.*|ctrlplane\.log(\.[0-9]+)?|stderr\.log)$`)

// rotated matches what a name of a log file that is full ends in.
var rotated = regexp.MustCompile(`\.[0-9]+$`)

// isLogFile reports whether a file is a log that the user has placed there, or an older part
// of it.
func isLogFile(path, log string) bool {
	return log != "" && (path == log || rotated.ReplaceAllString(path, "") == log)
}

func isOwnEntry(name string) bool {
	return ownEntries.MatchString(name) || strings.HasPrefix(name, durable.TempPrefix)
}
