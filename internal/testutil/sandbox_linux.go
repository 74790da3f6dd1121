package testutil

import (
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// sandboxEnv marks the process that InSandbox started.
const sandboxEnv = "CTRLPLANE_TEST_SANDBOX"

// InSandbox runs the calling test a second time, in a child process with user
// and mount namespaces of its own, and reports whether this is the child:
//
//	if !testutil.InSandbox(t, 1000) {
//		return
//	}
//
// uid is the child's user ID inside its namespace. User 0 may mount file systems
// there. Any other user has no privileges, not even if root runs the tests, so
// that file modes apply to it. The test is skipped where the system does not
// allow namespaces.
func InSandbox(t *testing.T, uid int) bool {
	t.Helper()
	if os.Getenv(sandboxEnv) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+regexp.QuoteMeta(t.Name())+"$", "-test.v")
	cmd.Env = append(os.Environ(), sandboxEnv+"=1", "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = sandboxAttr(uid)
	out, err := cmd.CombinedOutput()
	skipWithoutNamespaces(t, err)
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("in the sandbox: %v\n%s", err, out)
	}
	return false
}

// Sandbox makes cmd run as InSandbox runs a test. It skips the test where the
// system does not allow namespaces.
func Sandbox(t *testing.T, cmd *exec.Cmd, uid int) {
	t.Helper()
	probe := exec.CommandContext(t.Context(), "true")
	probe.SysProcAttr = sandboxAttr(uid)
	err := probe.Run()
	skipWithoutNamespaces(t, err)
	if err != nil {
		t.Fatal(err)
	}
	cmd.SysProcAttr = sandboxAttr(uid)
}

func sandboxAttr(uid int) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getgid(), Size: 1}},
	}
}

func skipWithoutNamespaces(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("no user namespaces here: %v", err)
	}
}

// Chmod changes the mode of a file or folder until the test ends.
func Chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Chmod(path, 0o700); err != nil {
			t.Error(err)
		}
	})
}

// MountTmpfs mounts a file system in memory until the test ends and returns its
// folder. options limit it, such as "size=64k" or "nr_inodes=5"; the root folder
// counts as one inode. The test must run in a sandbox as user 0.
func MountTmpfs(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}
