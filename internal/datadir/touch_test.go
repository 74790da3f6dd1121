package datadir

import (
	"os"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestTouch(t *testing.T) {
	d, err := OpenTemp()
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := os.Mkdir(d.Join("pki"), 0o700); err != nil {
		t.Fatal(err)
	}
	testutil.WriteFile(t, d.Join("pki", "sa.pub"), "")
	old := time.Now().Add(-30 * 24 * time.Hour)
	paths := []string{d.Join("pki", "sa.pub"), d.Join("pki"), d.Join(lockFile), d.Path()}
	for _, path := range paths {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Touch(); err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(info.ModTime()) > time.Hour {
			t.Errorf("%s has the time %v", path, info.ModTime())
		}
	}
}
