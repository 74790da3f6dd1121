package filewatch

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ctrlplane/ctrlplane/internal/testutil/leaks"
)

func TestMain(m *testing.M) { os.Exit(leaks.Main(m)) }

const timeout = 10 * time.Second

func isGo(name string) bool { return strings.HasSuffix(name, ".go") }

// watch starts a watcher, which ends with the test.
func watch(t *testing.T, roots ...Root) *Watcher {
	t.Helper()
	w, err := New(Config{Roots: roots, Quiet: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// write writes a file whose content no other has.
func write(t *testing.T, path string) {
	t.Helper()
	writeText(t, path, fmt.Sprint(t.Name(), writes.Add(1)))
}

var writes atomic.Int64

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// replace gives a file another content in one step: it is not seen empty.
func replace(t *testing.T, path, text string) {
	t.Helper()
	writeText(t, path+".tmp", text)
	if err := os.Rename(path+".tmp", path); err != nil {
		t.Fatal(err)
	}
}

// requireChange awaits a report of a path. Paths that are only there by chance of timing
// are none of the unwanted.
func requireChange(t *testing.T, w *Watcher, path string, unwanted ...string) {
	t.Helper()
	for deadline := time.After(timeout); ; {
		select {
		case got := <-w.Changes():
			for _, u := range unwanted {
				if slices.Contains(got, u) {
					t.Errorf("%s was reported", u)
				}
			}
			if slices.Contains(got, path) {
				return
			}
		case err := <-w.Errors():
			t.Fatal(err)
		case <-deadline:
			t.Fatalf("no report of %s", path)
		}
	}
}

func TestWatchIgnores(t *testing.T) {
	dir := t.TempDir()
	ignored := []string{"a.txt", "main.go~", ".main.go.swp", ".#main.go", "#main.go#", "vite.config.ts.timestamp-1795817466002-5c1264fcd2427.mjs", ".git/x.go", "bin/x.go", "vendor/a/x.go", "node_modules/x.go", "venv/lib/python3/site-packages/x.go", "target/debug/x.go", "pkg/testdata/x.go"}
	write(t, filepath.Join(dir, "target", "CACHEDIR.TAG"))
	for i, name := range ignored {
		ignored[i] = filepath.Join(dir, name)
		write(t, ignored[i])
	}
	main := filepath.Join(dir, "main.go")
	write(t, main)
	w := watch(t, Root{dir, func(name string) bool { return isGo(name) || strings.HasSuffix(name, ".mjs") }})
	if got := w.Initial(); !slices.Equal(got, []string{main}) {
		t.Errorf("at the start: %q", got)
	}
	for _, path := range ignored {
		write(t, path)
	}
	if err := os.Chmod(main, 0o600); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "pkg", "last.go")
	write(t, sub)
	requireChange(t, w, sub, append(ignored, main)...)
}

// TestWatchSaving saves a file as editors do: in place, and as a new file with its name.
func TestWatchSaving(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "main.go")
	write(t, path)
	w := watch(t, Root{dir, isGo})
	write(t, path)
	requireChange(t, w, path)
	replace(t, path, "package main")
	requireChange(t, w, path)
	write(t, path) // the file that is there now
	requireChange(t, w, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	requireChange(t, w, path)
}

// TestWatchSameContent writes files as a generator does that has nothing new to say.
func TestWatchSameContent(t *testing.T) {
	dir := t.TempDir()
	path, next := filepath.Join(dir, "made.go"), filepath.Join(dir, "next.go")
	writeText(t, path, "one")
	w := watch(t, Root{dir, isGo})
	replace(t, path, "one")
	write(t, next)
	requireChange(t, w, next, path)
	writeText(t, path, "two")
	requireChange(t, w, path)
	replace(t, path, "two")
	write(t, next)
	requireChange(t, w, next, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	requireChange(t, w, path)
	writeText(t, path, "two")
	requireChange(t, w, path)
}

// TestWatchNewFolders makes folders with files in them, also as a move.
func TestWatchNewFolders(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	w := watch(t, Root{dir, isGo})
	deep := filepath.Join(dir, "a", "b", "c.go")
	write(t, deep)
	requireChange(t, w, deep)
	write(t, deep)
	requireChange(t, w, deep)
	write(t, filepath.Join(elsewhere, "d", "e.go"))
	if err := os.Rename(filepath.Join(elsewhere, "d"), filepath.Join(dir, "d")); err != nil {
		t.Fatal(err)
	}
	requireChange(t, w, filepath.Join(dir, "d", "e.go"))
}

// TestWatchFile watches one file, whatever its name is, and nothing beside it.
func TestWatchFile(t *testing.T) {
	dir := t.TempDir()
	path, beside := filepath.Join(dir, ".site"), filepath.Join(dir, "x.go")
	write(t, path)
	w := watch(t, Root{Path: path})
	write(t, beside)
	write(t, path)
	requireChange(t, w, path, beside)
}

func TestWatchMissing(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	w, err := New(Config{Roots: []Root{{Path: missing}}})
	if err == nil {
		_ = w.Close()
		t.Fatal("no error")
	}
	if want := "cannot watch " + missing + ": " + syscall.ENOENT.Error(); err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestWatchRemovedRoot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sources")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := watch(t, Root{dir, isGo})
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-w.Errors():
		if !strings.Contains(err.Error(), dir+" was removed") {
			t.Errorf("got %q", err)
		}
	case <-time.After(timeout):
		t.Fatal("no error")
	}
}

func TestAdd(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	note := filepath.Join(other, "note.txt")
	write(t, note)
	w := watch(t, Root{dir, isGo})
	for range 2 {
		if err := w.Add(Root{note, isGo}, Root{dir, nil}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(w.allRoots()); n != 2 {
		t.Errorf("%d roots, want one for each path", n)
	}
	write(t, filepath.Join(other, "other.txt"))
	write(t, note)
	requireChange(t, w, note, filepath.Join(other, "other.txt"))
	if err := w.Add(Root{filepath.Join(dir, "none"), nil}); err == nil {
		t.Error("no error for a missing file")
	}
}

// TestAddAgain has a folder that is removed and made again, as by a change of the branch.
func TestAddAgain(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "base")
	path := filepath.Join(folder, "base.yaml")
	write(t, path)
	w := watch(t, Root{t.TempDir(), isGo})
	add := func() {
		if err := w.Add(Root{Path: path}); err != nil {
			t.Fatal(err)
		}
	}
	add()
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	requireChange(t, w, path)
	write(t, path)
	add()
	write(t, path)
	requireChange(t, w, path)
}

// TestAddAfterFailure adds what could not be watched.
func TestAddAfterFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "base.yaml")
	write(t, path)
	w := watch(t, Root{t.TempDir(), isGo})
	if err := w.notify.Close(); err != nil { // nothing can be watched
		t.Fatal(err)
	}
	for range 2 {
		if w.Add(Root{Path: path}) == nil || w.Add(Root{Path: dir}) == nil {
			t.Error("no error for what is not watched")
		}
	}
}

// TestWatchRemoval removes files whose content was never known: one of a root that was added, and a large one.
func TestWatchRemoval(t *testing.T) {
	dir, added := t.TempDir(), t.TempDir()
	large, late := filepath.Join(dir, "large.go"), filepath.Join(added, "late.go")
	writeText(t, large, strings.Repeat("x", maxKnownBytes+1))
	write(t, late)
	w := watch(t, Root{dir, isGo})
	if err := w.Add(Root{added, isGo}); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{large, late} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		requireChange(t, w, path)
	}
}

// TestWatchFileInCache watches a file in a folder whose other files are of no interest.
func TestWatchFileInCache(t *testing.T) {
	dir := t.TempDir()
	program, beside := filepath.Join(dir, "target", "debug", "operator"), filepath.Join(dir, "target", "debug", "x.go")
	write(t, filepath.Join(dir, "target", "CACHEDIR.TAG"))
	write(t, program)
	w := watch(t, Root{dir, isGo}, Root{Path: program})
	write(t, beside)
	write(t, program)
	requireChange(t, w, program, beside)
}
