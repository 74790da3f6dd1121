//go:build !windows

package class

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
