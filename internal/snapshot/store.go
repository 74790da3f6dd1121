package snapshot

import (
	"cmp"
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
	"github.com/ctrlplane/ctrlplane/internal/limitread"
	"github.com/ctrlplane/ctrlplane/internal/suggest"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// storeFolder is next to the folders of control planes, and cannot be the name of one.
const storeFolder = "_snapshots"

// maxNameLength is the maximal length of a name.
const maxNameLength = 63

var namePattern = regexp.MustCompile(`^[a-z0-9]([-_.a-z0-9]*[a-z0-9])?$`)

// Store is a folder of snapshot files.
type Store struct{ Dir string }

// UserStore returns the store of all control planes of the user.
func UserStore() (Store, error) {
	beside, err := datadir.Path("default", "")
	if err != nil {
		return Store{}, err
	}
	return Store{filepath.Join(filepath.Dir(beside), storeFolder)}, nil
}

// CheckName rejects names that a snapshot cannot have.
func CheckName(name string) error {
	if len(name) > maxNameLength || !namePattern.MatchString(name) || !filepath.IsLocal(name) { // "con" is not a valid file name on Windows
		return usage.Errorf(`%q cannot name a snapshot: use at most %d lower-case letters, digits, ".", "_" and "-", beginning and ending with a letter or digit`, name, maxNameLength)
	}
	return nil
}

// Path returns the file of a snapshot.
func (s Store) Path(name string) string { return filepath.Join(s.Dir, name) }

// CheckAvailable returns why a snapshot cannot be saved with a name.
func (s Store) CheckAvailable(name string, overwrite bool) error {
	if err := CheckName(name); err != nil {
		return err
	}
	_, err := os.Lstat(s.Path(name))
	if err == nil && !overwrite {
		return fmt.Errorf("snapshot %q exists already: choose another name, or use --overwrite", name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return s.explainError("cannot be read", name, err)
	}
	return nil
}

// Save writes a snapshot atomically; once it has returned, the snapshot survives a crash
// of the machine.
func (s Store) Save(name string, data []byte, overwrite bool) error {
	if err := s.CheckAvailable(name, overwrite); err != nil {
		return err
	}
	if _, err := durable.MkdirAll(s.Dir, true); err != nil {
		return s.explainError("cannot be written", name, err)
	}
	if err := durable.Write(s.Path(name), data, true); err != nil {
		return s.explainError("cannot be written", name, err)
	}
	return nil
}

// Load reads a snapshot without checking its content. The error for an unknown name
// suggests a similar one.
func (s Store) Load(name string) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	data, err := limitread.File(s.Path(name), maxStateBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.unknownError(name)
	}
	if err != nil {
		return nil, s.explainError("cannot be read", name, err)
	}
	return data, nil
}

// Delete removes a snapshot.
func (s Store) Delete(name string) error {
	if err := CheckName(name); err != nil {
		return err
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
	known, err := s.ListNames()
	if err != nil {
		return err
	}
	if len(known) == 0 {
		return usage.Errorf(`unknown snapshot %q: there are no snapshots yet: "ctrlplane snapshot save %s" creates one`, name, name)
	}
	return usage.Errorf("unknown snapshot %q: %s", name, suggest.Hint(name, known, `"ctrlplane snapshot list" lists them`))
}

// ListNames returns the names of all snapshots, sorted.
func (s Store) ListNames() ([]string, error) {
	entries, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("snapshots in %s cannot be listed: %w", s.Dir, err)
	}
	var list []string
	for _, e := range entries {
		if CheckName(e.Name()) == nil && !e.IsDir() {
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
func (s Store) List() ([]Info, error) {
	names, err := s.ListNames()
	if err != nil {
		return nil, err
	}
	list := []Info{}
	for _, name := range names {
		data, err := limitread.File(s.Path(name), maxStateBytes)
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

func (s Store) explainError(what, name string, err error) error {
	const advice = "free space there, or set XDG_STATE_HOME to a writable folder"
	return fmt.Errorf("snapshot %q %s (%w): %s", name, what, err, advice)
}
