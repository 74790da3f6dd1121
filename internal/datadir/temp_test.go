package datadir

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/filelock"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// setTempDir sets the folder for temporary files of the test and its processes.
func setTempDir(t *testing.T) string {
	t.Helper()
	parent := t.TempDir()
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, parent)
	}
	return parent
}

func TestTemp(t *testing.T) {
	parent := setTempDir(t)
	d := mustTemp(t)
	if !d.Ephemeral() || filepath.Dir(d.Path()) != parent {
		t.Errorf("got %+v, want an ephemeral folder in %s", d, parent)
	}
	if mode := readTree(t, d.Path())["."]; runtime.GOOS != "windows" && mode != "drwx------ " {
		t.Errorf("folder has mode %s", mode)
	}
	if err := d.SaveState(State{Port: 6443}); err != nil {
		t.Fatal(err)
	}
	s, running, err := Peek(d.Path())
	if diff := cmp.Diff(State{Port: 6443, PID: os.Getpid()}, s); err != nil || !running || diff != "" {
		t.Errorf("running %v, %v (-want +got):\n%s", running, err, diff)
	}
	testutil.WriteFiles(t, d.Path(), map[string]string{"etcd/member/wal/0": "x", "etcd/lock": ""})
	mustClose(t, d)
	mustClose(t, d)
	if diff := cmp.Diff(map[string]string{".": readTree(t, parent)["."]}, readTree(t, parent)); diff != "" {
		t.Errorf("left behind (-want +got):\n%s", diff)
	}

	d = mustTemp(t)
	if err := os.RemoveAll(d.Path()); runtime.GOOS != "windows" && err != nil {
		t.Fatal(err)
	}
	mustClose(t, d) // the folder was removed already
}

func TestTempRemovesDirsOfCrashedProcesses(t *testing.T) {
	setTempDir(t)
	crashed, _, kill := startHolder(t, "temp", "")
	alive, _, _ := startHolder(t, "temp", "")
	testutil.WriteFiles(t, crashed, map[string]string{"pki/ca.key": "secret"})
	kill()

	mine := mustTemp(t)
	if _, err := os.Stat(crashed); !os.IsNotExist(err) {
		t.Errorf("folder of the killed process: %v, want it removed", err)
	}
	for _, path := range []string{alive, mine.Path()} {
		if _, running, err := Peek(path); !running || err != nil {
			t.Errorf("%s: running %v, %v", path, running, err)
		}
	}
}

func TestTempRemovesAbandonedDirs(t *testing.T) {
	tests := map[string]struct {
		files map[string]string
		keep  bool
	}{
		"empty":                      {files: map[string]string{}, keep: true}, // the user may have made it
		"died before the marker":     {files: map[string]string{lockFile: "", pidFile: "1\n", ".new-1": ""}},
		"the machine died":           {files: map[string]string{lockFile: "", markerFile: "", "etcd/wal": "x"}},
		"died":                       {files: map[string]string{lockFile: "", markerFile: `{"format":0,"ephemeral":true}`, "a/b/c": "x"}},
		"no lock file":               {files: map[string]string{markerFile: `{"format":0,"ephemeral":true}`}, keep: true},
		"foreign files":              {files: map[string]string{"letter.txt": "x"}, keep: true},
		"foreign files, with a lock": {files: map[string]string{lockFile: "", "letter.txt": "x"}, keep: true},
		"a --data-dir":               {files: map[string]string{lockFile: "", markerFile: `{"format":1}`, "etcd/wal": "x"}, keep: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			parent := setTempDir(t)
			path := filepath.Join(parent, tempPrefix+"123")
			testutil.WriteFiles(t, path, test.files)
			testutil.WriteFiles(t, parent, map[string]string{tempPrefix + "123/": ""})
			before := readTree(t, path)
			mustTemp(t)
			if !test.keep {
				if _, err := os.Lstat(path); !os.IsNotExist(err) {
					t.Errorf("got %v, want it removed", err)
				}
				return
			}
			if diff := cmp.Diff(before, readTree(t, path)); diff != "" {
				t.Errorf("changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestTempKeepsForeignDirs(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links of unix")
	}
	parent := setTempDir(t)
	elsewhere := t.TempDir()
	ours := map[string]string{lockFile: "", markerFile: `{"format":0,"ephemeral":true}`}
	testutil.WriteFiles(t, elsewhere, ours)
	testutil.WriteFiles(t, parent, map[string]string{tempPrefix + "file": "x", "ctrlplane-1/": "", "other/": ""})
	if err := os.Symlink(elsewhere, filepath.Join(parent, tempPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	open := filepath.Join(parent, tempPrefix+"open")
	testutil.WriteFiles(t, open, ours)
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		foreign := filepath.Join(parent, tempPrefix+"foreign")
		testutil.WriteFiles(t, foreign, ours)
		if err := os.Chown(foreign, 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	before, beforeElsewhere := readTree(t, parent), readTree(t, elsewhere)
	mustClose(t, mustTemp(t))
	if diff := cmp.Diff(before, readTree(t, parent)); diff != "" {
		t.Errorf("changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(beforeElsewhere, readTree(t, elsewhere)); diff != "" {
		t.Errorf("changed through the link (-before +after):\n%s", diff)
	}
}

// TestConcurrentTemps opens and closes ephemeral folders in many processes at once, some of
// which are killed: open folders stay as they are, and in the end all are removed.
func TestConcurrentTemps(t *testing.T) {
	parent := setTempDir(t)
	var children []*exec.Cmd
	outputs := map[*exec.Cmd]*strings.Builder{}
	for range 4 {
		cmd := helperCommand(t, "churn", "40")
		outputs[cmd] = &strings.Builder{}
		cmd.Stdout, cmd.Stderr = outputs[cmd], outputs[cmd]
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, cmd)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := cycleTempDirs("50"); err != nil {
				t.Error(err)
			}
		})
	}
	for range 5 {
		path, _, kill := startHolder(t, "temp", "")
		testutil.WriteFiles(t, path, map[string]string{"etcd/wal": "x"})
		kill()
	}
	all.Wait()
	for _, cmd := range children {
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %s", err, outputs[cmd])
		}
	}
	mustClose(t, mustTemp(t))
	if left := readTree(t, parent); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestTempWithoutUsableParent(t *testing.T) {
	parent := setTempDir(t)
	gone := filepath.Join(parent, "gone")
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, gone)
	}
	_, err := OpenTemp()
	if got := testutil.ErrorLine(t, err); !strings.HasPrefix(got, "temporary folder in "+gone+": ") || !strings.HasSuffix(got, ": fix the cause, or set "+tempVariable+" to another folder") {
		t.Errorf("got %s", got)
	}
}

// TestConcurrentRemoves removes the same folder in two processes.
func TestConcurrentRemoves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	for range 1000 {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		var other sync.WaitGroup
		other.Go(func() { // keeps it for a moment
			for {
				f, err := os.OpenFile(filepath.Join(path, lockFile), os.O_CREATE, 0o600)
				if err != nil {
					return
				}
				f.Close()
				if err := os.Remove(f.Name()); err != nil {
					t.Error(err)
				}
			}
		})
		for {
			err := removeEmptyDir(path)
			if err == nil {
				break
			}
			if !errors.Is(err, errLockedAgain) {
				t.Fatal(err)
			}
		}
		other.Wait()
	}
}

// TestRemoveKeepsDirLockedAgain locks a folder while another process removes it: either
// locking fails, or the folder stays.
func TestRemoveKeepsDirLockedAgain(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there the name of a removed file lingers until it is closed")
	}
	parent := t.TempDir()
	retaken := 0
	for range 600 {
		path := filepath.Join(parent, "d")
		testutil.WriteFiles(t, parent, map[string]string{"d/data": "x"})
		old, err := tryLock(path, true)
		if err != nil {
			t.Fatal(err)
		}
		var other *os.File
		var all sync.WaitGroup
		all.Go(func() {
			for err := filelock.ErrHeld; errors.Is(err, filelock.ErrHeld); {
				other, err = tryLock(path, true)
			}
		})
		err = removeLockedDir(path, old)
		all.Wait()
		if other == nil {
			if _, statErr := os.Stat(path); err != nil || !os.IsNotExist(statErr) {
				t.Fatalf("%v; %v, want the folder removed", err, statErr)
			}
			continue
		}
		retaken++
		if got := readTree(t, path); !errors.Is(err, errLockedAgain) || len(got) != 2 || got[lockFile] == "" {
			t.Fatalf("%v, want %v; the locked folder contains %v", err, errLockedAgain, got)
		}
		if err := removeLockedDir(path, other); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d locked again", retaken)
}

// TestTempRemovesFilesOfCrashedProcesses does so with the folders of OpenTempFiles, which are no data folders.
func TestTempRemovesFilesOfCrashedProcesses(t *testing.T) {
	setTempDir(t)
	crashed, _, kill := startHolder(t, "temp files", "")
	alive, _, _ := startHolder(t, "temp files", "")
	testutil.WriteFiles(t, crashed, map[string]string{"lesson/main.go": "x"})
	if dirs, err := EphemeralDirs(); err != nil || len(dirs) != 0 {
		t.Errorf("data folders: %v, %v", dirs, err)
	}
	kill()

	mustTemp(t)
	if _, err := os.Stat(crashed); !os.IsNotExist(err) {
		t.Errorf("folder of the killed process: %v, want it removed", err)
	}
	if _, err := os.Stat(alive); err != nil {
		t.Errorf("folder of the other process: %v, want it kept", err)
	}
}
