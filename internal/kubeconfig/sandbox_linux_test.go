package kubeconfig

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestPermissionDenied(t *testing.T) {
	if !testutil.InSandbox(t, 1000) {
		return
	}
	tests := map[string]struct {
		path string // below the folder
		mode os.FileMode
		want string // DIR stands for the folder
	}{
		"file not readable":   {"config", 0, "open DIR/config: permission denied"},
		"file not writable":   {"config", 0o400, "open DIR/config: permission denied"},
		"folder not writable": {".", 0o500, "open DIR/config.lock: permission denied"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": usersKubeconfig})
			path := filepath.Join(dir, test.path)
			testutil.Chmod(t, path, test.mode)
			_, err := Merge("a", sampleConfig("a"))
			testutil.Chmod(t, path, 0o700)
			wantError(t, err, fmt.Sprintf("kubeconfig %s/config: %s: make the file and its folder writable, or name another file in KUBECONFIG",
				dir, strings.ReplaceAll(test.want, "DIR", dir)))
			if diff := cmp.Diff(map[string]string{"config": usersKubeconfig}, testutil.ReadFiles(t, dir)); diff != "" {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
		})
	}
}

// TestUnmergeIgnoresUnrelatedUnwritableFile has a file in the list that is not writable and
// has nothing to remove.
func TestUnmergeIgnoresUnrelatedUnwritableFile(t *testing.T) {
	if !testutil.InSandbox(t, 1000) {
		return
	}
	dir := setKubeconfigFiles(t, []string{"theirs/config", "config"}, map[string]string{"theirs/config": usersKubeconfig, "config": usersKubeconfig})
	theirs := filepath.Join(dir, "theirs")
	t.Setenv("KUBECONFIG", filepath.Join(dir, "config"))
	mustMerge(t, "a")
	t.Setenv("KUBECONFIG", filepath.Join(theirs, "config")+":"+filepath.Join(dir, "config"))
	testutil.Chmod(t, theirs, 0o500)
	mustUnmerge(t, "a")
	if got := mustLoad(t, filepath.Join(dir, "config")); got.CurrentContext != "work" || len(got.Contexts) != 2 {
		t.Errorf("got %+v", got)
	}

	testutil.Chmod(t, theirs, 0o700)
	mustMerge(t, "a") // into the user's file, the first in the list
	testutil.Chmod(t, theirs, 0o500)
	wantError(t, Unmerge("a", sampleConfig("a")), fmt.Sprintf("kubeconfig %s/config: open %s/config.lock: permission denied: make the file and its folder writable, or name another file in KUBECONFIG", theirs, theirs))
}

// TestUnmergeIgnoresUnreadableFile has a kubeconfig of another user.
func TestUnmergeIgnoresUnreadableFile(t *testing.T) {
	if !testutil.InSandbox(t, 1000) {
		return
	}
	dir := setKubeconfigFiles(t, []string{"theirs/config"}, map[string]string{"theirs/config": usersKubeconfig})
	for _, path := range []string{"theirs/config", "theirs"} {
		path = filepath.Join(dir, path)
		testutil.Chmod(t, path, 0)
		mustUnmerge(t, "a")
		testutil.Chmod(t, path, 0o700)
	}
}

// TestUnmergeIgnoresUnrelatedReadOnlyFile has a file with nothing to remove on a file system that is
// mounted read-only, as in many containers.
func TestUnmergeIgnoresUnrelatedReadOnlyFile(t *testing.T) {
	if !testutil.InSandbox(t, 0) {
		return
	}
	disk := testutil.MountTmpfs(t, "size=64k")
	path := testutil.WriteFile(t, filepath.Join(disk, "config"), usersKubeconfig)
	t.Setenv("KUBECONFIG", path)
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(syscall.MS_RDONLY)
	mustUnmerge(t, "a")

	remount(0)
	mustMerge(t, "a")
	remount(syscall.MS_RDONLY)
	wantError(t, Unmerge("a", sampleConfig("a")), fmt.Sprintf("kubeconfig %s: open %s.lock: read-only file system: make the file and its folder writable, or name another file in KUBECONFIG", path, path))
}

func TestDiskFull(t *testing.T) {
	if !testutil.InSandbox(t, 0) {
		return
	}
	disk := testutil.MountTmpfs(t, "size=4k")
	path := testutil.WriteFile(t, filepath.Join(disk, "config"), usersKubeconfig)
	t.Setenv("KUBECONFIG", path)
	_, err := Merge("a", sampleConfig("a"))
	if err == nil || !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(err.Error(), "kubeconfig "+path+": the disk is full (") {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff(map[string]string{"config": usersKubeconfig}, testutil.ReadFiles(t, disk)); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
}

// TestMergeKeepsFileOwner merges as root (sudo) into a file of another user.
func TestMergeKeepsFileOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	const nobody = 65534
	dir := setKubeconfigFiles(t, []string{"config"}, map[string]string{"config": usersKubeconfig})
	path := filepath.Join(dir, "config")
	if err := os.Chown(path, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	mustMerge(t, "a")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if stat := info.Sys().(*syscall.Stat_t); stat.Uid != nobody || stat.Gid != nobody {
		t.Errorf("owner %d:%d", stat.Uid, stat.Gid)
	}
	wantMode(t, path, 0o600)
}
