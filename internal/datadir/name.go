package datadir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/fileerror"
)

// contextPrefix tells the contexts of control planes from others in a kubeconfig.
const contextPrefix = "ctrlplane-"

// maxNameLength is the length of a DNS label (RFC 1123).
const maxNameLength = 63

var (
	namePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

	// xdgMutex guards xdg's package variables, which hold the environment of the last
	// Reload.
	xdgMutex sync.Mutex
)

// ValidateName rejects what cannot be the name of a control plane: it names a folder and a
// kubeconfig context, and must be a DNS label.
func ValidateName(name string) error {
	// The DNS label "con" is not a valid file name on Windows.
	if len(name) > maxNameLength || !namePattern.MatchString(name) || !filepath.IsLocal(name) {
		return fmt.Errorf("%q cannot name a control plane: use at most %d lower-case letters, digits and \"-\", beginning and ending with a letter or digit", name, maxNameLength)
	}
	return nil
}

// ContextName returns what a kubeconfig calls a control plane.
func ContextName(name string) string { return contextPrefix + name }

// NameOfContext returns the name of the control plane that a kubeconfig calls so.
func NameOfContext(context string) (name string, ok bool) {
	name, ok = strings.CutPrefix(context, contextPrefix)
	return name, ok && ValidateName(name) == nil
}

// Path returns the absolute path of a control plane's folder: override if it is not empty,
// else a folder in the platform's state directory; a *StateFolderError says that there is none.
func Path(name, override string) (string, error) {
	if err := ValidateName(name); err != nil {
		return "", err
	}
	if override != "" {
		path, err := filepath.Abs(override)
		if err != nil {
			return "", fmt.Errorf("data folder %s: %w: give an absolute --data-dir", override, err)
		}
		return path, nil
	}
	root, err := stateRoot()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, name), nil
}

// List returns the names of the control planes that have a folder in the platform's state
// directory, running or not, sorted, also those of folders that this user may not enter. The error is
// a *StateFolderError if there is none that this user can read.
func List() ([]string, error) {
	root, err := stateRoot()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &StateFolderError{root, fileerror.WithoutPath(err)}
	}
	var names []string
	for _, e := range entries {
		if ValidateName(e.Name()) != nil {
			continue
		}
		_, err := os.Stat(filepath.Join(root, e.Name(), markerFile))
		if err == nil || e.IsDir() && !errors.Is(err, fs.ErrNotExist) { // perhaps of another user: Inspect says why
			names = append(names, e.Name())
		}
	}
	if len(names) > 0 {
		if err := checkStateFolder(root); err != nil {
			return nil, err
		}
	}
	return names, nil
}
