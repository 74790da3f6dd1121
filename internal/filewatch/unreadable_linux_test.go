package filewatch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestWatchUnreadable has folders that this user may not read: their content cannot be a source.
func TestWatchUnreadable(t *testing.T) {
	if !testutil.InSandbox(t, 1000) {
		return
	}
	dir := t.TempDir()
	testutil.WriteFiles(t, dir, map[string]string{"of-another/a.go": "x", "sub/secret/a.go": "x", "z/a.go": "x"})
	testutil.Chmod(t, filepath.Join(dir, "of-another"), 0)
	testutil.Chmod(t, filepath.Join(dir, "sub", "secret"), 0o100)
	w := watch(t, Root{Path: dir, Accept: isGo})
	write(t, filepath.Join(dir, "z", "a.go"))
	requireChange(t, w, filepath.Join(dir, "z", "a.go"))
	if err := os.Mkdir(filepath.Join(dir, "new"), 0); err != nil {
		t.Fatal(err)
	}
	testutil.Chmod(t, filepath.Join(dir, "new"), 0) // so that it can be removed
	write(t, filepath.Join(dir, "sub", "b.go"))
	requireChange(t, w, filepath.Join(dir, "sub", "b.go"))

	testutil.Chmod(t, dir, 0o300)
	_, err := New(Config{Roots: []Root{{Path: dir}}})
	if want := "cannot watch " + dir + ": permission denied: make it readable, or name another folder"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a root: got %v, want %s", err, want)
	}
}
