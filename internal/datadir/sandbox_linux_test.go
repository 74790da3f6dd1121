package datadir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestOpenUnwritableDir(t *testing.T) {
	if !testutil.InSandbox(t, 1000) {
		return
	}
	parent := t.TempDir()
	testutil.WriteFiles(t, parent, map[string]string{"ours/" + markerFile: `{"format":1}`, "empty/": "", "hidden/": ""})
	for name, mode := range map[string]os.FileMode{"ours": 0o500, "empty": 0o500, "hidden": 0, ".": 0o500} {
		testutil.Chmod(t, filepath.Join(parent, name), mode)
	}
	for name, why := range map[string]string{
		"ours":    `open DIR/lock: permission denied`,
		"empty":   `open DIR/lock: permission denied`,
		"hidden":  `open DIR: permission denied`,
		"new/one": `mkdir ` + filepath.Join(parent, "new") + `: permission denied`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(parent, name)
			_, err := Open(t.Context(), path, 1)
			got := testutil.ErrorLine(t, err)
			want := fmt.Sprintf("data folder %s cannot be used (%s): make it writable, or choose another --data-dir", path, strings.ReplaceAll(why, "DIR", path))
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestTempReportsCleanupError(t *testing.T) {
	if !testutil.InSandbox(t, 1000) {
		return
	}
	parent := setTempDir(t)
	stuck := filepath.Join(parent, tempPrefix+"1")
	testutil.WriteFiles(t, stuck, map[string]string{lockFile: "", markerFile: `{"ephemeral":true}`, "etcd/wal": "x"})
	testutil.WriteFiles(t, parent, map[string]string{tempPrefix + "2/" + lockFile: ""})
	testutil.Chmod(t, filepath.Join(stuck, "etcd"), 0o500)
	d, err := OpenTemp()
	if err != nil {
		t.Fatal(err)
	}
	defer mustClose(t, d)
	want := fmt.Sprintf("the temporary folder of a killed process could not be removed (unlinkat %s/etcd/wal: permission denied): remove manually: %s", stuck, stuck)
	if diff := cmp.Diff(want, testutil.ErrorLine(t, d.CleanupError())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(parent, tempPrefix+"2")); !os.IsNotExist(err) {
		t.Errorf("got %v, want the other one removed", err)
	}
}

// mountFullDisk mounts a file system with room for that many files and folders.
func mountFullDisk(t *testing.T, room int) string {
	t.Helper()
	return testutil.MountTmpfs(t, fmt.Sprintf("size=64k,nr_inodes=%d", room+1))
}

func TestDiskFull(t *testing.T) {
	if !testutil.InSandbox(t, 0) {
		return
	}
	// The folders a and a/d, and the files lock, pid and ctrlplane.json.
	const needed = 5
	for room := range needed {
		t.Run(fmt.Sprintf("open with room for %d", room), func(t *testing.T) {
			disk := mountFullDisk(t, room)
			path := filepath.Join(disk, "a", "d")
			_, err := Open(t.Context(), path, 1)
			got := testutil.ErrorLine(t, err)
			if !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(got, "data folder "+path+": the disk is full (") ||
				!strings.HasSuffix(got, ": no space left on device): free space, or choose another --data-dir") {
				t.Errorf("got %s", got)
			}
			if left := readTree(t, disk); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	t.Run("open with room", func(t *testing.T) {
		mustOpen(t, filepath.Join(mountFullDisk(t, needed), "a", "d"))
	})
	t.Run("save", func(t *testing.T) {
		d := mustOpen(t, filepath.Join(mountFullDisk(t, needed), "a", "d"))
		if got := testutil.ErrorLine(t, d.SaveState(State{Port: 1})); !strings.Contains(got, "the disk is full") {
			t.Errorf("got %s", got)
		}
		if s, err := d.State(); err != nil || s.Port != 0 {
			t.Errorf("got %+v, %v; want the unchanged state", s, err)
		}
	})
	for room := range 4 {
		t.Run(fmt.Sprintf("temp with room for %d", room), func(t *testing.T) {
			disk := mountFullDisk(t, room)
			t.Setenv("TMPDIR", disk)
			_, err := OpenTemp()
			if got := testutil.ErrorLine(t, err); !strings.HasPrefix(got, "temporary folder in "+disk+": the disk is full (") {
				t.Errorf("got %s", got)
			}
			if left := readTree(t, disk); len(left) != 1 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestHomeOfAnotherUser(t *testing.T) {
	if !testutil.InSandbox(t, 1000) {
		return
	}
	home := setStateHome(t)
	testutil.WriteFiles(t, home, map[string]string{"ctrlplane/a/" + markerFile: `{"format":1}`})
	path, err := Path("a", "")
	if err != nil {
		t.Fatal(err)
	}
	for folder, mode := range map[string]os.FileMode{".": 0, "ctrlplane": 0o600} {
		folder = filepath.Join(home, folder)
		testutil.Chmod(t, folder, mode)
		_, listErr := List()
		_, inspectErr := Inspect(path)
		_, openErr := Open(t.Context(), path, 1)
		testutil.Chmod(t, folder, 0o700)
		for _, err := range []error{listErr, inspectErr, openErr} {
			if want := "state folder " + home + "/ctrlplane cannot be entered (permission denied): "; !IsStateFolderError(err) || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s with mode %v: got %v", folder, mode, err)
			}
		}
	}
	testutil.Chmod(t, home, 0o500)
	if _, err := Open(t.Context(), filepath.Join(home, "ctrlplane", "a"), 1); err != nil {
		t.Errorf("a folder that may be entered: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(home, "ctrlplane", "a")); err != nil {
		t.Fatal(err)
	}
	testutil.Chmod(t, filepath.Join(home, "ctrlplane"), 0o500)
	if _, err := Open(t.Context(), path, 1); err == nil || !strings.Contains(err.Error(), "set XDG_STATE_HOME to another folder") {
		t.Errorf("a folder that may only be entered: got %v", err)
	}
}

// TestFolderOfAnotherUser has a folder that cannot be entered next to one of this user.
func TestFolderOfAnotherUser(t *testing.T) {
	if !testutil.InSandbox(t, 1000) {
		return
	}
	home := setStateHome(t)
	testutil.WriteFiles(t, home, map[string]string{"ctrlplane/a/" + markerFile: `{"format":1}`, "ctrlplane/other/" + markerFile: `{"format":1}`})
	other := filepath.Join(home, "ctrlplane", "other")
	testutil.Chmod(t, other, 0)
	defer testutil.Chmod(t, other, 0o700)
	if names, err := List(); err != nil || !slices.Equal(names, []string{"a", "other"}) {
		t.Errorf("got %q, %v", names, err)
	}
	_, err := Inspect(other)
	want := "data folder " + other + " cannot be used (open " + other + "/" + markerFile + ": permission denied): give this user access to it, set XDG_STATE_HOME to another folder, or choose another --data-dir"
	if diff := cmp.Diff(want, testutil.ErrorLine(t, err)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestReadOnlyFolder reads a folder by a read-only mount, as a container may have one of another's.
func TestReadOnlyFolder(t *testing.T) {
	if !testutil.InSandbox(t, 0) {
		return
	}
	disk, readOnly := testutil.MountTmpfs(t, "size=64k"), t.TempDir()
	d := mustOpen(t, filepath.Join(disk, "d"))
	if err := d.SaveState(State{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	for _, flags := range []uintptr{syscall.MS_BIND, syscall.MS_BIND | syscall.MS_REMOUNT | syscall.MS_RDONLY} {
		if err := syscall.Mount(disk, readOnly, "", flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if err := syscall.Unmount(readOnly, 0); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(readOnly, "d")
	if got, err := Inspect(path); err != nil || !got.Running || got.PID != os.Getpid() || got.Name != "a" {
		t.Errorf("in use: got %+v, %v", got, err)
	}
	mustClose(t, d)
	if got, err := Inspect(path); err != nil || got.Running || got.Crashed || got.Name != "a" {
		t.Errorf("not in use: got %+v, %v", got, err)
	}
	if _, err := Open(t.Context(), path, 1); err == nil || !strings.Contains(err.Error(), "read-only file system") {
		t.Errorf("open: got %v", err)
	}
}
