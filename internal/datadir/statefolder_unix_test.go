//go:build unix

package datadir

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestStateFolderThatCannotBeEntered has a file where the state folder would be: unlike a mode, that
// also stops root.
func TestStateFolderThatCannotBeEntered(t *testing.T) {
	home := filepath.Join(t.TempDir(), "file")
	testutil.WriteFile(t, home, "")
	t.Setenv("XDG_STATE_HOME", home)
	path, err := Path("a", "")
	if err != nil {
		t.Fatal(err)
	}
	want := "state folder " + home + "/ctrlplane cannot be entered (not a directory): set XDG_STATE_HOME to a folder of yours"
	for name, do := range map[string]func() error{
		"StateFolder": func() error { _, err := StateFolder(); return err },
		"List":        func() error { _, err := List(); return err },
		"Inspect":     func() error { _, err := Inspect(path); return err },
		"Peek":        func() error { _, _, err := Peek(path); return err },
		"Open":        func() error { _, err := Open(t.Context(), path, 1); return err },
	} {
		t.Run(name, func(t *testing.T) {
			err := do()
			if diff := cmp.Diff(want, testutil.ErrorLine(t, err)); diff != "" || !IsStateFolderError(err) {
				t.Errorf("%T (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestRelativeHomeFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "relative")
	if _, err := List(); !IsStateFolderError(err) || !strings.Contains(err.Error(), "because HOME is not an absolute path: set it, or XDG_STATE_HOME") {
		t.Errorf("got %v", err)
	}
}

func TestNoHomeFolder(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", "")
	for name, do := range map[string]func() error{
		"Path": func() error { _, err := Path("a", ""); return err },
		"List": func() error { _, err := List(); return err },
	} {
		if err := do(); !IsStateFolderError(err) || !strings.Contains(err.Error(), "HOME is not set: set it, or XDG_STATE_HOME") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if d, err := OpenTemp(); err != nil {
		t.Errorf("a temporary folder needs no home: %v", err)
	} else {
		mustClose(t, d)
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if _, err := List(); err != nil {
		t.Errorf("with XDG_STATE_HOME: %v", err)
	}
}
