//go:build !windows

package class

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// A pipe in place of the file would block the reader.
func TestFileOfAClassIsRegular(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if err := FollowFile(t.Context(), path, NewRoster()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
	s, err := NewSender(path, "Ann")
	if err != nil {
		t.Fatal(err)
	}
	s.Send("a", 1, 2, Working)
	if err := s.Close(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}

// A link that a student puts there names a file of the teacher or of another student.
func TestLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	link, other, missing := filepath.Join(dir, "class.jsonl"), filepath.Join(dir, "profile"), filepath.Join(dir, "missing")
	testutil.WriteFile(t, other, "")
	for _, target := range []string{other, missing} {
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if err := createClassFile(link); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: the teacher: got %v", target, err)
		}
		if err := appendLine(link, []byte("{}\n")); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: a student: got %v", target, err)
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the target of the link was created: %v", err)
	}
	if info, err := os.Stat(other); err != nil || info.Mode().Perm() != 0o600 || info.Size() != 0 {
		t.Errorf("the target of the link was changed: %v, %v", info, err)
	}
}

// The mode of a file that was there before is its owner's choice.
func TestModeOfAnExistingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "class.jsonl")
	if err := os.WriteFile(path, nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := createClassFile(path); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("got %v, %v", info, err)
	}
}
