package datadir

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRunningEphemeralDirs(t *testing.T) {
	parent := t.TempDir()
	t.Setenv("TMPDIR", parent)
	list := func() []string {
		t.Helper()
		got, err := RunningEphemeralDirs()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := list(); len(got) != 0 {
		t.Errorf("without a running process: got %v", got)
	}
	d, err := OpenTemp()
	if err != nil {
		t.Fatal(err)
	}
	// The folder of a killed process and a file do not count.
	if err := os.Mkdir(filepath.Join(parent, tempPrefix+"crashed"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(parent, tempPrefix+"file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{d.Path()}, list()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if got := list(); len(got) != 0 {
		t.Errorf("closed: got %v", got)
	}
}
