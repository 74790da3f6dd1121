package datadir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestEphemeralDirs: the folder of a killed process counts, a file does not.
func TestEphemeralDirs(t *testing.T) {
	parent := setTempDir(t)
	killed := filepath.Join(parent, tempPrefix+"killed")
	if err := os.Mkdir(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(parent, tempPrefix+"file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := EphemeralDirs(); err != nil || !slices.Equal(got, []string{killed}) {
		t.Errorf("got %v, %v", got, err)
	}
}
