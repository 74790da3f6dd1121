//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestWriteGoldenIsInterrupted writes to a pipe that nothing reads.
func TestWriteGoldenIsInterrupted(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := writeGolden(ctx, pipe, []byte("text")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	end, err := os.OpenFile(pipe, os.O_RDONLY, 0) // the write goes on
	if err != nil {
		t.Fatal(err)
	}
	if err := end.Close(); err != nil {
		t.Error(err)
	}
}
