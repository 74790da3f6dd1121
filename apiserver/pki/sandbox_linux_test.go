package pki

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/durable"
)

// sandboxEnv is set in the process that runs in its own namespaces.
const sandboxEnv = "PKI_TEST_SANDBOX"

// runInSandbox runs the calling test again in a user namespace of its own, as user uid
// of that namespace, and reports whether this is that run. Uid 0 may mount there. Other
// users have no privileges, even if root runs the tests.
func runInSandbox(t *testing.T, uid int) bool {
	t.Helper()
	if os.Getenv(sandboxEnv) != "" {
		return true
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), sandboxEnv+"=1", "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: uid, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EINVAL) {
		t.Skipf("user namespaces are not available: %v", err)
	}
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// chmodForTest changes the mode until the test ends.
func chmodForTest(t *testing.T, path string, mode os.FileMode) {
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

func TestReportsMissingPermissions(t *testing.T) {
	if !runInSandbox(t, 1000) {
		return
	}
	tests := map[string]struct {
		path string // below the folder
		mode os.FileMode
		when time.Duration // after startTime
		want string        // DIR stands for the folder; empty = no error
	}{
		"CA key not readable":           {"ca.key", 0, 0, "pki: open DIR/ca.key: permission denied: make it readable and writable by your user"},
		"CA certificate not readable":   {"ca.crt", 0, 0, "pki: open DIR/ca.crt: permission denied: make it readable and writable by your user"},
		"leaf key not readable":         {"admin.key", 0, 0, "pki: open DIR/admin.key: permission denied: make it readable and writable by your user"},
		"folder not readable":           {".", 0, 0, "pki: open DIR: permission denied: make it readable and writable by your user"},
		"not writable, nothing to do":   {".", 0o500, 0, ""},
		"not writable, work to be done": {".", 0o500, LeafValidity, "pki: open DIR/.new-NUMBER: permission denied: make it readable and writable by your user"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cfg, _ := newPKI(t)
			cfg.Now = fixedClock(startTime().Add(test.when))
			path := filepath.Join(cfg.Dir, test.path)
			chmodForTest(t, path, test.mode)
			_, err := Ensure(cfg)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			got := errorLine(t, err)
			if _, rest, ok := strings.Cut(got, durable.TempPrefix); ok {
				number, _, _ := strings.Cut(rest, ":")
				got = strings.ReplaceAll(got, number, "NUMBER")
			}
			if diff := cmp.Diff(strings.ReplaceAll(test.want, "DIR", cfg.Dir), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The disk may be full at any file. A first start that fails leaves no files.
func TestDiskFullLeavesNothing(t *testing.T) {
	if !runInSandbox(t, 0) {
		return
	}
	const needed = 15 // the folder and the files
	for room := range needed + 1 {
		t.Run(fmt.Sprintf("room for %d", room), func(t *testing.T) {
			disk := t.TempDir()
			if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, fmt.Sprintf("nr_inodes=%d", room+1)); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := syscall.Unmount(disk, 0); err != nil {
					t.Error(err)
				}
			}()
			_, err := Ensure(Config{Dir: filepath.Join(disk, "pki")})
			if room == needed {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if got := errorLine(t, err); !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(got, "pki: ") ||
				!strings.HasSuffix(got, ": no space left on device: free space on the disk") {
				t.Errorf("got %s", got)
			}
			if left, err := os.ReadDir(disk); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}
