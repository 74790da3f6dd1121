package logfile

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/inuse"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestRotate(t *testing.T) {
	dir := t.TempDir()
	r, err := openRotator(filepath.Join(dir, "a.log"), 10, 2)
	if err != nil {
		t.Fatal(err)
	}
	// Three records fit (9 bytes), a fourth does not; "long" alone exceeds the limit.
	for _, rec := range []string{"1.\n", "2.\n", "3.\n", "4.\n", "longer than that\n", "5.\n", "6.\n", "7.\n", "8.\n"} {
		if n, err := r.Write([]byte(rec)); n != len(rec) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", rec, n, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"a.log":   "8.\n",
		"a.log.1": "5.\n6.\n7.\n",
		"a.log.2": "longer than that\n",
	}
	if diff := cmp.Diff(want, readFolder(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}

	// After it was opened again, the size of the existing file counts.
	r, err = openRotator(filepath.Join(dir, "a.log"), 10, 2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Write([]byte("12345678\n")); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	want = map[string]string{"a.log": "12345678\n", "a.log.1": "8.\n", "a.log.2": "5.\n6.\n7.\n"}
	if diff := cmp.Diff(want, readFolder(t, dir)); diff != "" {
		t.Errorf("files after the second run (-want +got):\n%s", diff)
	}
}

// readFolder returns the content of each file of a folder, and checks that only the
// owner can read them.
func readFolder(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v, want 0600", e.Name(), info.Mode())
		}
		files[e.Name()] = testutil.ReadFile(t, filepath.Join(dir, e.Name()))
	}
	return files
}

func TestRotateConcurrently(t *testing.T) {
	dir := t.TempDir()
	f := openLimitedLog(t, Config{Path: filepath.Join(dir, "a.log")}, 2000, 1000)
	log := slog.New(f.Handler())
	const writers, each = 8, 100
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				log.Info("x", "id", fmt.Sprintf("%d-%d", w, i))
			}
		})
	}
	wg.Wait()
	seen := map[string]int{}
	files := readFolder(t, dir)
	for name, content := range files {
		if len(content) > 2000 {
			t.Errorf("%s has %d bytes, more than 2000", name, len(content))
		}
		for line := range strings.Lines(content) {
			_, id, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "id=")
			if !ok {
				t.Errorf("%s: broken record %q", name, line)
			}
			seen[id]++
		}
	}
	if len(files) < 2 {
		t.Errorf("there are %d files: nothing was rotated", len(files))
	}
	if len(seen) != writers*each {
		t.Errorf("%d different records, want %d", len(seen), writers*each)
	}
}

// TestRotateFileInUse logs while another program has the log open, or an older one.
func TestRotateFileInUse(t *testing.T) {
	for open, last := range map[string]string{"a.log": "2.\n", "a.log.1": "2.\n", "a.log.3": "1.\n"} {
		dir := t.TempDir()
		r, err := openRotator(filepath.Join(dir, "a.log"), 3, 3)
		if err != nil {
			t.Fatal(err)
		}
		write := func(records ...string) {
			for _, rec := range records {
				if n, err := r.Write([]byte(rec)); n != len(rec) || err != nil {
					t.Errorf("%s: Write(%q) = %d, %v", open, rec, n, err)
				}
			}
		}
		write("1.\n", "2.\n", "3.\n", "4.\n")
		r.rename = func(from, to string) error {
			if filepath.Base(from) == open || filepath.Base(to) == open {
				return inuse.Err
			}
			return os.Rename(from, to)
		}
		write("5.\n", "6.\n", "7.\n")
		if got := readFolder(t, dir); got["a.log.3"] != last || got["a.log"] != "4.\n5.\n6.\n7.\n" {
			t.Errorf("%s is open: %q", open, got)
		}
		r.rename = os.Rename
		write("8.\n")
		want := map[string]string{"a.log": "8.\n", "a.log.1": "4.\n5.\n6.\n7.\n", "a.log.2": "3.\n", "a.log.3": "2.\n"}
		if diff := cmp.Diff(want, readFolder(t, dir)); diff != "" {
			t.Errorf("%s was open (-want +got):\n%s", open, diff)
		}
		if err := r.Close(); err != nil {
			t.Errorf("%s was open: %v", open, err)
		}
	}
}

func TestRotateFailureKeepsRecords(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file's folder cannot be removed there")
	}
	dir := filepath.Join(t.TempDir(), "folder")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := open(Config{Path: filepath.Join(dir, "a.log")}, 100, 3)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(f.Handler())
	log.Info(strings.Repeat("x", 100))
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	log.Info("lost")
	log.Info("lost too")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	log.Info("found again")
	if got := testutil.ReadFile(t, filepath.Join(dir, "a.log")); !strings.Contains(got, "found again") {
		t.Errorf("after the folder came back the file has %q", got)
	}
	if err := f.Close(); err == nil || !strings.HasPrefix(err.Error(), "log file: open ") {
		t.Errorf("Close: %v, want the first failure", err)
	}
}
