package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/inuse"
)

// FormatVersion is the format of the data folder that this version writes, and the highest
// that it reads.
const FormatVersion = 1

// marker is the content of ctrlplane.json, which marks a data folder.
type marker struct {
	// Format is the version of the folder's format, as passed to Open.
	Format int `json:"format"`
	// Ephemeral allows OpenTemp to remove the folder once it is not locked.
	Ephemeral bool `json:"ephemeral,omitempty"`
	// Home is the folder of the named data folders of who has made an ephemeral one.
	Home string `json:"home,omitempty"`
}

// isForeign reports whether the folder is ephemeral and was made with another HOME.
func (m marker) isForeign() bool {
	own, err := stateRoot()
	return err == nil && m.Home != "" && m.Home != own
}

// Exists reports whether there is a data folder at a path, which may be any folder of the user: it does not open a pipe there.
func Exists(path string) bool {
	if info, err := os.Lstat(filepath.Join(path, markerFile)); err != nil || !info.Mode().IsRegular() {
		return false
	}
	_, marked, err := readMarker(path)
	return marked && err == nil
}

// readMarker also reports whether the file exists, even if it cannot be read.
func readMarker(path string) (marker, bool, error) {
	data, err := inuse.ReadFile(filepath.Join(path, markerFile))
	if errors.Is(err, fs.ErrNotExist) {
		return marker{}, false, nil
	}
	if err != nil {
		return marker{}, true, explainError(path, "read "+markerFile, err)
	}
	var m marker
	if err := json.Unmarshal(data, &m); err != nil || m.Format < 0 {
		if err == nil {
			err = fmt.Errorf("format is %d", m.Format)
		}
		return marker{}, true, fmt.Errorf("data folder %s: %s is corrupt (%w): restore it from a backup, or choose another --name or --data-dir", path, markerFile, err)
	}
	return m, true, nil
}

func writeMarker(path string, m marker) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	// Durable, because Open rejects a folder that has other files but no marker.
	return durable.Write(filepath.Join(path, markerFile), append(data, '\n'), !m.Ephemeral)
}
