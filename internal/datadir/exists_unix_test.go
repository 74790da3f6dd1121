//go:build unix

package datadir

import (
	"path/filepath"
	"syscall"
	"testing"
)

// TestExistsDoesNotOpenPipes checks a folder that is not one of ours: opening a pipe there waits for a writer.
func TestExistsDoesNotOpenPipes(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, markerFile), 0o600); err != nil {
		t.Skip("no pipes here: ", err)
	}
	if Exists(dir) {
		t.Error("a pipe marks a data folder")
	}
}
