package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestLogIsPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no file modes")
	}
	f, err := openFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := f.writeFile(LogFile, func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(f.path, LogFile))
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode() != 0o600 {
		t.Errorf("mode %v, want 0600", info.Mode())
	}
}

// TestOpenRemovesAnEarlierReport: what ends before it has written its own must not seem to
// have the results of another run.
func TestOpenRemovesAnEarlierReport(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{PageFile, EventsFile, JUnitFile, ObjectsFile, LogFile, OutputFile, "notes.txt"} {
		testutil.WriteFile(t, filepath.Join(folder, name), "earlier")
	}
	f, err := openFolder(folder)
	if err == nil {
		err = f.close()
	}
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 || left[0].Name() != "notes.txt" {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestOpenRefusesAFolderInUse: both runs would write the same files.
func TestOpenRefusesAFolderInUse(t *testing.T) {
	dir := t.TempDir()
	first, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	killed := filepath.Join(dir, unfinished+"killed")
	if err := errors.Join(os.Mkdir(killed, 0o700), os.WriteFile(filepath.Join(killed, lockFile), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	_, err = Open(dir)
	want := "cannot write a report to " + dir + ": another run is writing one there: use another folder"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := os.Stat(first.folder.staging); err != nil {
		t.Errorf("the files of the first run: %v", err)
	}
	if _, err := first.Write(Outcome{Began: runStart}, io.Discard, emptyEnv); err != nil {
		t.Errorf("first run: %v", err)
	}
	next, err := openFolder(dir)
	if err == nil {
		err = next.close()
	}
	if err != nil {
		t.Errorf("after the first run: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, unfinished+"*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestCopySince(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.log")
	write := func(path, text string) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprint(f, text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check := func(m logPosition, want string) {
		t.Helper()
		var b bytes.Buffer
		if err := m.copySince(&b); err != nil || b.String() != want {
			t.Errorf("%q, %v, want %q", &b, err, want)
		}
	}
	fresh := currentLogPosition(path)
	check(fresh, "")
	write(path, "old ")
	write(path, "lines ")
	check(fresh, "old lines ")
	later := currentLogPosition(path)
	check(later, "")
	write(path, "new ")
	check(later, "new ")
	for range 2 { // rotate twice
		_ = os.Rename(path+".1", path+".2") // does not exist the first time
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		write(path, "more ")
	}
	check(later, "new more more ")
	check(fresh, "old lines new more more ")
	if err := os.Remove(path + ".2"); err != nil {
		t.Fatal(err)
	}
	check(later, "more more ")
}

// TestWriteReportsRemovedFolder removes the folder before Write.
func TestWriteReportsRemovedFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file's folder cannot be removed there")
	}
	dir := filepath.Join(t.TempDir(), "out")
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Follow(rolloutJournal(10), nil); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	_, err = r.Write(Outcome{Began: runStart}, io.Discard, emptyEnv)
	want := "the report in " + dir + " is incomplete: junit.xml: "
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestFolderPublishesOnlyCompleteFiles(t *testing.T) {
	dir := t.TempDir()
	file := testutil.WriteFile(t, filepath.Join(dir, "file"), "")
	for _, path := range []string{file, filepath.Join(file, "in it")} {
		if _, err := Open(path); err == nil || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", path, err)
		}
	}
	f, err := openFolder(filepath.Join(dir, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	failed := errors.New("full")
	if err := f.writeFile("x", func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return failed }); !errors.Is(err, failed) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(f.path, "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an incomplete file was published: %v", err)
	}
	if err := f.close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(f.path); err != nil || len(left) > 0 {
		t.Errorf("leftover files: %v, %v", left, err)
	}
}
