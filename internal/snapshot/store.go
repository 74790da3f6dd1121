package snapshot

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/fileerror"
	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// storeFolder is next to the folders of control planes, and cannot be the name of one.
const storeFolder = "_snapshots"

// maxNameLength is the maximal length of a name.
const maxNameLength = 63

var namePattern = regexp.MustCompile(`^[a-z0-9]([-_.a-z0-9]*[a-z0-9])?$`)

// Store is a folder of snapshot files. Where a method takes a name, that may also be the path of
// a file elsewhere, except for Delete: a path has a separator, and no name does.
type Store struct {
	Dir string

	noDir error // why the folder is not known: no snapshot has a name then
}

// IsPath reports whether what a user calls a snapshot by is the path of a file.
func IsPath(name string) bool { return strings.ContainsAny(name, "/"+string(filepath.Separator)) }

// UserStore returns the store of all control planes of the user. If the state folder cannot be
// entered, only files elsewhere can be used.
func UserStore() Store {
	root, err := datadir.StateFolder()
	return Store{Dir: filepath.Join(root, storeFolder), noDir: err}
}

// checkName rejects names that a snapshot cannot have.
func checkName(name string) error {
	if len(name) > maxNameLength || !namePattern.MatchString(name) || !filepath.IsLocal(name) { // "con" is not a valid file name on Windows
		return usage.Errorf(`%q cannot name a snapshot: use at most %d lower-case letters, digits, ".", "_" and "-", beginning and ending with a letter or digit`, name, maxNameLength)
	}
	return nil
}

// checkNameOrPath rejects what neither is a name nor a path.
func (s Store) checkNameOrPath(name string) error {
	if IsPath(name) && !strings.ContainsRune(name, 0) {
		return nil
	}
	if err := checkName(name); err != nil {
		return usage.Errorf("%w%s", err, fileHint(name))
	}
	if s.noDir != nil {
		return fmt.Errorf("snapshot %q: %w, or name a file, such as .%c%s", name, s.noDir, filepath.Separator, name)
	}
	return nil
}

// fileHint says how to name a file of the working folder; empty if no such file exists.
func fileHint(name string) string {
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return fmt.Sprintf(": to use the file of that name write .%c%s", filepath.Separator, name)
}

// Path returns the file of a snapshot.
func (s Store) Path(name string) string {
	if IsPath(name) {
		return name
	}
	return filepath.Join(s.Dir, name)
}

// CheckAvailable returns why a snapshot cannot be saved with a name.
func (s Store) CheckAvailable(name string, overwrite bool) error {
	if err := s.checkNameOrPath(name); err != nil {
		return err
	}
	_, err := os.Lstat(s.Path(name))
	if err == nil && !overwrite {
		return fmt.Errorf("snapshot %q exists already: choose another name, or use --overwrite", name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.explainError(cannotRead, name, err)
	}
	return nil
}

// Save writes a snapshot atomically; once it has returned, the snapshot survives a crash
// of the machine.
func (s Store) Save(name string, data []byte, overwrite bool) error {
	if err := s.CheckAvailable(name, overwrite); err != nil {
		return err
	}
	if !IsPath(name) {
		if _, err := durable.MkdirAll(s.Dir, true); err != nil {
			return s.explainError("cannot be written", name, err)
		}
		durable.RemoveUnfinished(s.Dir)
	}
	if err := durable.Write(s.Path(name), data, true); err != nil {
		return s.explainError("cannot be written", name, err)
	}
	return nil
}

// Load reads a snapshot without checking its content. The error for an unknown name
// suggests a similar one.
func (s Store) Load(ctx context.Context, name string) ([]byte, error) {
	if err := s.checkNameOrPath(name); err != nil {
		return nil, err
	}
	data, err := limitread.FileContext(ctx, s.Path(name), maxStateBytes)
	switch notFound := errors.Is(err, fs.ErrNotExist); {
	case notFound && IsPath(name):
		return nil, usage.Errorf("snapshot %q: no such file: correct the path", name)
	case notFound:
		return nil, s.unknownError(name)
	}
	if err != nil {
		return nil, s.explainError(cannotRead, name, err)
	}
	return data, nil
}

// Delete removes a snapshot.
func (s Store) Delete(name string) error {
	if IsPath(name) {
		return usage.Errorf("snapshot %q is a file of yours, which only you can remove: name one that \"ctrlplane snapshot list\" lists", name)
	}
	if err := checkName(name); err != nil {
		return err
	}
	if s.noDir != nil {
		return fmt.Errorf("snapshot %q: %w", name, s.noDir)
	}
	err := durable.Remove(s.Path(name), true)
	if errors.Is(err, fs.ErrNotExist) {
		return s.unknownError(name)
	}
	if err != nil {
		return s.explainError("cannot be removed", name, err)
	}
	return nil
}

// unknownError returns the error for a name that no snapshot has.
func (s Store) unknownError(name string) error {
	if hint := fileHint(name); hint != "" {
		return usage.Errorf("unknown snapshot %q%s", name, hint)
	}
	known, err := s.listNames()
	if err != nil {
		return err
	}
	if len(known) == 0 {
		return usage.Errorf(`unknown snapshot %q: there are no snapshots yet: "ctrlplane snapshot save %s" creates one`, name, name)
	}
	return usage.Errorf("unknown snapshot %q: %s", name, suggest.Hint(name, known, `"ctrlplane snapshot list" lists them`))
}

// listNames returns the names of all snapshots, sorted.
func (s Store) listNames() ([]string, error) {
	if s.noDir != nil {
		return nil, fmt.Errorf("snapshots cannot be listed: %w", s.noDir)
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("snapshots in %s cannot be listed: %w: fix the cause, or set XDG_STATE_HOME to another folder", s.Dir, err)
	}
	var list []string
	for _, e := range entries {
		if checkName(e.Name()) == nil && !e.IsDir() {
			list = append(list, e.Name())
		}
	}
	return list, nil
}

// Info is what List returns of a snapshot.
type Info struct {
	Name  string `json:"name"`
	Size  int64  `json:"size"`            // of the file, in bytes
	Error string `json:"error,omitempty"` // why it cannot be used
	Header
}

// List returns all snapshots, the newest first.
func (s Store) List(ctx context.Context) ([]Info, error) {
	names, err := s.listNames()
	if err != nil {
		return nil, err
	}
	list := []Info{}
	for _, name := range names {
		data, err := limitread.FileContext(ctx, s.Path(name), maxStateBytes)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted meanwhile
		}
		l := Info{Name: name, Size: int64(len(data))}
		if err == nil {
			l.Header, err = DecodeHeader(data)
		}
		if err != nil {
			l.Error = err.Error()
		}
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b Info) int {
		return cmp.Or(b.Created.Compare(a.Created), strings.Compare(a.Name, b.Name))
	})
	return list, nil
}

// cannotRead is what explainError says of a snapshot that cannot be read.
const cannotRead = "cannot be read"

func (s Store) explainError(what, name string, err error) error {
	advice := "fix the cause, or set XDG_STATE_HOME to a folder of yours"
	switch {
	case IsPath(name) && what == cannotRead && errors.Is(err, fs.ErrPermission):
		advice = "make the file readable for your user, as with chmod or chown"
	case IsPath(name):
		advice = "choose a file in a folder that exists and is yours"
	case fileerror.IsDiskFull(err):
		advice = "free space there, or set XDG_STATE_HOME to a folder with space"
	}
	return fmt.Errorf("snapshot %q %s (%w): %s", name, what, err, advice)
}
