package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestMkdirAll(t *testing.T) {
	top := t.TempDir()
	a := filepath.Join(top, "a")
	b := filepath.Join(a, "b")
	for _, want := range [][]string{{a, b}, nil} {
		made, err := MkdirAll(b, true)
		if err != nil || !slices.Equal(made, want) {
			t.Errorf("got %q, %v, want %q", made, err, want)
		}
	}
	if info, err := os.Stat(b); err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := SyncDir(filepath.Join(top, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
