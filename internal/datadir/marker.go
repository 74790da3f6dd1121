package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ctrlplane/ctrlplane/internal/durable"
)

// marker is what ctrlplane.json holds: it makes a folder ours.
type marker struct {
	// Format is the version of what the folder holds, as given to Open.
	Format int `json:"format"`
	// Ephemeral allows Temp to remove the folder once nobody has its lock.
	Ephemeral bool `json:"ephemeral,omitempty"`
}

// readMarker also reports whether there is one, readable or not.
func readMarker(path string) (marker, bool, error) {
	data, err := os.ReadFile(filepath.Join(path, markerFile))
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
		return marker{}, true, fmt.Errorf("data folder %s: %s is corrupt (%w): put it back from a backup, or choose another --name or --data-dir", path, markerFile, err)
	}
	return m, true, nil
}

func writeMarker(path string, m marker) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	// Durable before anything else is written: without it the folder would
	// be taken for somebody else's.
	return durable.Write(filepath.Join(path, markerFile), append(data, '\n'), !m.Ephemeral)
}
