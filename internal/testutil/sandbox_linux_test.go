package testutil

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestInSandboxWithoutPrivileges(t *testing.T) {
	if !InSandbox(t, 1000) {
		return
	}
	if uid := os.Getuid(); uid != 1000 {
		t.Errorf("user %d, want 1000", uid)
	}
	dir := t.TempDir()
	Chmod(t, dir, 0o500)
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); !errors.Is(err, os.ErrPermission) {
		t.Errorf("write into a read-only folder: got %v, want permission denied", err)
	}
}

func TestMountTmpfs(t *testing.T) {
	if !InSandbox(t, 0) {
		return
	}
	disk := MountTmpfs(t, "nr_inodes=2")
	if err := os.WriteFile(filepath.Join(disk, "first"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(disk, "second"), nil, 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("second file: got %v, want no space", err)
	}
}

func TestSandboxOfCommand(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "id", "-u")
	Sandbox(t, cmd, 42)
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != "42" {
		t.Errorf("user %q, %v, want 42", out, err)
	}
}
