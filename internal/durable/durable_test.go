package durable

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
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
	if info, err := os.Stat(b); err != nil || !info.IsDir() || info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Chmod(a, 0o300); err != nil { // root may read it nevertheless
		t.Fatal(err)
	}
	if made, err := MkdirAll(filepath.Join(a, "c"), true); err != nil || len(made) != 1 {
		t.Errorf("in a folder that cannot be read: %q, %v", made, err)
	}
	if err := os.Chmod(a, 0o700); err != nil { // for its removal
		t.Fatal(err)
	}
	if err := SyncDir(filepath.Join(top, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestReplaceOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	file, folder := filepath.Join(dir, "file"), filepath.Join(dir, "folder")
	fileLink, folderLink := filepath.Join(dir, "file-link"), filepath.Join(dir, "folder-link")
	if err := errors.Join(os.Mkdir(folder, 0o700), os.WriteFile(filepath.Join(dir, "other"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Symlink(filepath.Join(dir, "other"), fileLink), os.Symlink(folder, folderLink)); err != nil {
		t.Fatal(err)
	}
	// On Windows a link to a folder is a folder itself, which MoveFileEx does not replace.
	replacesFolderLink := runtime.GOOS != "windows"
	for path, replaced := range map[string]bool{file: true, fileLink: true, folderLink: replacesFolderLink, folder: false} {
		err := Write(path, []byte("new"), false)
		if text, _ := os.ReadFile(path); (err == nil) != replaced || (string(text) == "new") != replaced {
			t.Errorf("%s: %v, and then %q", path, err, text)
		}
	}
}
