package datadir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestDiscardRemovesOnlyCreatedDirs(t *testing.T) {
	t.Run("made by Open", func(t *testing.T) {
		parent := t.TempDir()
		d, err := Open(t.Context(), filepath.Join(parent, "a", "b"), 1)
		if err != nil {
			t.Fatal(err)
		}
		testutil.WriteFile(t, d.Join("file"), "")
		if err := d.Discard(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(parent); len(left) != 0 || err != nil {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
	t.Run("there before", func(t *testing.T) {
		path := t.TempDir()
		for range 2 {
			d, err := Open(t.Context(), path, 1)
			if err != nil {
				t.Fatal(err)
			}
			testutil.WriteFile(t, d.Join("file"), "")
			if err := d.Discard(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(path, "file")); err != nil {
				t.Errorf("an existing folder lost a file: %v", err)
			}
		}
	})
}
