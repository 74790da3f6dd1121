//go:build unix

package scheduler

import (
	"log/slog"
	"path/filepath"
	"syscall"
	"testing"
)

// Nothing writes to the pipe: to read it would block.
func TestNewRefusesPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := New(Config{ConfigFile: pipe, Logger: slog.New(slog.DiscardHandler)})
	wantUsageError(t, err, "--scheduler-config "+pipe+": ", "save it in a file")
}
