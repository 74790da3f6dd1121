package snapshot

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/durable"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

func TestStore(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "made", "when needed")}
	if list, err := s.List(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("empty: %v, %v", list, err)
	}
	older := mustEncode(t, Header{Kubernetes: "v1.37.1", Created: time.Unix(1, 0)}, sampleState())
	newer := mustEncode(t, Header{Kubernetes: "v1.37.1", Created: time.Unix(2, 0)}, sampleState())
	for name, file := range map[string][]byte{"a": older, "b.c-d_e": newer, "broken": newer[:100]} {
		if err := s.Save(name, file, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, foreign := range []string{durable.TempPrefix + "123", "README.TXT"} {
		testutil.WriteFile(t, s.Path(foreign), "")
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 3 || list[0].Name != "b.c-d_e" || list[1].Name != "a" || list[2].Name != "broken" || list[2].Error == "" || list[1].Objects != 3 {
		t.Errorf("got %+v, %v", list, err)
	}
	if data, err := s.Load(t.Context(), "a"); err != nil || string(data) != string(older) {
		t.Errorf("load: %v", err)
	}
	info, err := os.Stat(s.Path("a"))
	if err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := s.Save("a", newer, false); err == nil || !strings.Contains(err.Error(), "exists already") {
		t.Errorf("overwritten: %v", err)
	}
	if err := s.Save("a", newer, true); err != nil {
		t.Error(err)
	}
	if err := s.Delete("a"); err != nil {
		t.Error(err)
	}
	for _, fail := range []func() error{
		func() error { return s.Delete("a") },
		func() error { _, err := s.Load(t.Context(), "brokn"); return err },
	} {
		if err := fail(); !errors.As(err, new(usage.Error)) || !strings.HasPrefix(err.Error(), "unknown snapshot") {
			t.Errorf("got %v", err)
		}
	}
	if _, err := s.Load(t.Context(), "brokn"); !strings.Contains(err.Error(), `did you mean "broken"?`) {
		t.Errorf("got %v", err)
	}
}

func TestStoreNames(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for _, name := range []string{"", ".", "..", ".a", "-a", "a-", "a ", "A", "ä", "a\x00", "./a\x00", durable.TempPrefix + "1", strings.Repeat("a", 64)} {
		for what, err := range map[string]error{"save": s.Save(name, nil, true), "delete": s.Delete(name), "free": s.CheckAvailable(name, true)} {
			if !errors.As(err, new(usage.Error)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
		if _, err := s.Load(t.Context(), name); !errors.As(err, new(usage.Error)) {
			t.Errorf("load %q: %v", name, err)
		}
	}
	if entries, err := os.ReadDir(s.Dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// A save that was killed leaves a file, which a later one removes, but not one that is being
// written.
func TestSaveRemovesUnfinishedFiles(t *testing.T) {
	s := Store{Dir: t.TempDir()}
	for name, age := range map[string]time.Duration{
		durable.TempPrefix + "killed": 25 * time.Hour, durable.TempPrefix + "written": time.Hour, "old": 25 * time.Hour, ".other": 25 * time.Hour,
	} {
		modified := time.Now().Add(-age)
		if err := errors.Join(os.WriteFile(s.Path(name), nil, 0o600), os.Chtimes(s.Path(name), modified, modified)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Save("new", nil, false); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{durable.TempPrefix + "written", ".other", "new", "old"}, names); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// TestStorePaths has snapshots in files of the user's own, which a store never removes.
func TestStorePaths(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "not", "made")}
	folder := t.TempDir()
	t.Chdir(folder)
	file := mustEncode(t, Header{Kubernetes: "v1.37.1"}, sampleState())
	for _, path := range []string{filepath.Join(folder, "Base v1.snapshot"), "." + string(filepath.Separator) + "base", "./other"} {
		if err := s.Save(path, file, false); err != nil {
			t.Fatal(err)
		}
		if err := s.Save(path, nil, false); err == nil || !strings.Contains(err.Error(), "exists already") {
			t.Errorf("%s is overwritten: %v", path, err)
		}
		if data, err := s.Load(t.Context(), path); err != nil || !bytes.Equal(data, file) {
			t.Errorf("load %s: %v", path, err)
		}
		if err := s.Delete(path); !errors.As(err, new(usage.Error)) {
			t.Errorf("delete %s: %v", path, err)
		}
	}
	if info, err := os.Stat("base"); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if _, err := os.Stat(s.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder of the store: %v", err)
	}
	if err := s.Save("missing/base", file, false); err == nil || !strings.Contains(err.Error(), "a folder that exists") {
		t.Errorf("got %v", err)
	}
	for name, says := range map[string]string{"missing/base": "no such file", "base": "write ./base", "Base v1.snapshot": "write ./Base v1.snapshot"} {
		if _, err := s.Load(t.Context(), name); !errors.As(err, new(usage.Error)) || !strings.Contains(filepath.ToSlash(err.Error()), says) {
			t.Errorf("load %s: %v", name, err)
		}
	}
}

// TestUnreadableFileAdvice checks that the advice for a file of another user is about that file.
func TestUnreadableFileAdvice(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "/x/base", Err: fs.ErrPermission}
	for what, want := range map[string]string{cannotRead: ": make the file readable for your user", "cannot be written": ": choose a file in a folder that exists and is yours"} {
		if got := (Store{}).explainError(what, "/x/base", denied).Error(); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
}

// TestStoreErrors checks that a failed write leaves nothing behind, and keeps an existing
// snapshot.
func TestStoreErrors(t *testing.T) {
	file := testutil.WriteFile(t, filepath.Join(t.TempDir(), "file"), "")
	err := Store{Dir: file}.Save("a", []byte("x"), false)
	if err == nil || !strings.Contains(err.Error(), "cannot be written") && !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("got %v", err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (Store{Dir: dir}).Save("a", []byte("x"), true); err == nil {
		t.Error("a folder was replaced")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}
