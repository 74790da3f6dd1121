package datadir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestEphemeralDirs: the folder of a killed process counts, a file does not.
func TestEphemeralDirs(t *testing.T) {
	parent := setTempDir(t)
	killed := filepath.Join(parent, tempPrefix+"killed")
	if err := os.Mkdir(killed, 0o700); err != nil {
		t.Fatal(err)
	}
	testutil.WriteFile(t, filepath.Join(parent, tempPrefix+"file"), "")
	if got, err := EphemeralDirs(); err != nil || !slices.Equal(got, []string{killed}) {
		t.Errorf("got %v, %v", got, err)
	}
}
