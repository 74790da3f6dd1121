package datadir

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "ctrlplane", "default")
	d := mustOpen(t, path)
	if d.Path() != path || d.Ephemeral() || d.CleanupError() != nil || d.Join("a", "b") != filepath.Join(path, "a", "b") {
		t.Errorf("got %+v", d)
	}
	want := map[string]string{
		".":        "drwx------ ",
		markerFile: "-rw------- {\"format\":1}\n",
		lockFile:   "-rw------- ",
		pidFile:    "-rw------- " + strconv.Itoa(os.Getpid()) + "\n",
	}
	opened := readTree(t, path)
	opened[lockFile], _, _ = strings.Cut(opened[lockFile], "{") // see owner
	if diff := cmp.Diff(want, opened); runtime.GOOS != "windows" && diff != "" {
		t.Errorf("open (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("drwx------ ", readTree(t, filepath.Dir(path))["."]); runtime.GOOS != "windows" && diff != "" {
		t.Errorf("parent (-want +got):\n%s", diff)
	}

	mustClose(t, d)
	mustClose(t, d)
	delete(want, pidFile)
	if diff := cmp.Diff(want, readTree(t, path)); runtime.GOOS != "windows" && diff != "" {
		t.Errorf("closed (-want +got):\n%s", diff)
	}
	mustClose(t, mustOpen(t, path))
}

// TestCloseReportsThatTheFolderWasRemoved checks that the end of a control plane whose
// data was removed is not taken for a success.
func TestCloseReportsThatTheFolderWasRemoved(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	d, err := Open(t.Context(), path, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Skip("the system does not remove a folder that is in use: ", err)
	}
	again := mustOpen(t, path) // another process may use a new folder now
	want := "data folder " + path + " was removed while it was in use: its data is lost unless you have a snapshot or a backup"
	if got := testutil.ErrorLine(t, d.Close()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if _, err := os.Stat(again.Join(pidFile)); err != nil {
		t.Errorf("the PID of the new folder: %v", err)
	}
	mustClose(t, again)
}

// TestCloseReportsThatTheFolderWasRenamed does not say that anything is lost.
func TestCloseReportsThatTheFolderWasRenamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d")
	d, err := Open(t.Context(), path, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d.Loss() != "" {
		t.Errorf("before: %q", d.Loss())
	}
	if err := os.Rename(path, path+"2"); err != nil {
		t.Skip("the system does not rename a folder that is in use: ", err)
	}
	want := "data folder " + path + " was renamed while it was in use: rename it back, or start with its new path"
	if got := testutil.ErrorLine(t, d.Close()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if info, err := Inspect(path + "2"); err != nil || info.Running || info.Crashed {
		t.Errorf("the renamed folder: %+v, %v, want neither in use nor crashed", info, err)
	}
}

func TestOpenExisting(t *testing.T) {
	tests := map[string]struct {
		files   map[string]string
		version int
		want    []string
	}{
		"empty":              {version: 1, want: []string{".", markerFile, lockFile, pidFile}},
		"interrupted open":   {files: map[string]string{lockFile: "", pidFile: "1\n", ".new-1": "{"}, version: 1, want: []string{".", markerFile, lockFile, pidFile}},
		"ours":               {files: map[string]string{markerFile: `{"format":1}`, "etcd/wal": "x"}, version: 1, want: []string{".", markerFile, lockFile, pidFile, "etcd", "etcd/wal"}},
		"copied pki":         {files: map[string]string{"pki/sa.key": "x"}, version: 1, want: []string{".", markerFile, lockFile, pidFile, "pki", "pki/sa.key"}},
		"older":              {files: map[string]string{markerFile: `{"format":1}`}, version: 2, want: []string{".", markerFile, lockFile, pidFile}},
		"crashed ephemeral":  {files: map[string]string{markerFile: `{"format":0,"ephemeral":true}`}, version: 2, want: []string{".", markerFile, lockFile, pidFile}},
		"unfinished writing": {files: map[string]string{markerFile: `{"format":1}`, ".new-7": "half"}, version: 1, want: []string{".", markerFile, lockFile, pidFile}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			testutil.WriteFiles(t, path, test.files)
			if err := os.Chmod(path, 0o755); err != nil {
				t.Fatal(err)
			}
			d, err := Open(t.Context(), path, test.version)
			if err != nil {
				t.Fatal(err)
			}
			defer mustClose(t, d)
			got := readTree(t, path)
			want := map[string]bool{}
			for _, name := range test.want {
				want[filepath.FromSlash(name)] = true
			}
			names := map[string]bool{}
			for name := range got {
				names[name] = true
			}
			if diff := cmp.Diff(want, names); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if m, _, err := readMarker(path); err != nil || m != (marker{Format: test.version}) {
				t.Errorf("marker %+v, %v", m, err)
			}
			if !strings.HasPrefix(got["."], "drwx------") && runtime.GOOS != "windows" {
				t.Errorf("folder %s, want it accessible to its owner only", got["."])
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	tests := map[string]struct {
		files map[string]string // in the parent of the data folder, "d"
		open  string            // default "d"
		want  string            // DIR stands for the data folder
	}{
		"a file": {
			files: map[string]string{"d": "x"},
			want:  `data folder DIR is a file: choose another --data-dir`,
		},
		"foreign files": {
			files: map[string]string{"d/Documents/": "", "d/letter.txt": "x"},
			want:  `data folder DIR contains other files, such as Documents: choose a --data-dir that is new, empty or was created by ctrlplane`,
		},
		"a pki folder of another program": {
			files: map[string]string{"d/pki/ca.crt": "x"},
			want:  `data folder DIR contains other files, such as pki: choose a --data-dir that is new, empty or was created by ctrlplane`,
		},
		"newer": {
			files: map[string]string{"d/ctrlplane.json": `{"format":3}`, "d/data": "x"},
			want:  `data folder DIR was written by a newer ctrlplane (format 3, this one reads up to 1): upgrade ctrlplane, or choose another --name or --data-dir`,
		},
		"newer with a version": {
			files: map[string]string{"d/ctrlplane.json": `{"format":3}`, "d/state.json": `{"kubernetesVersion":"v1.39.0"}`},
			want:  `data folder DIR was written by a newer ctrlplane for Kubernetes v1.39.0 (format 3, this one reads up to 1): upgrade ctrlplane, or choose another --name or --data-dir`,
		},
		"newer with a state unknown to us": {
			files: map[string]string{"d/ctrlplane.json": `{"format":3}`, "d/state.json": `[]`},
			want:  `data folder DIR was written by a newer ctrlplane (format 3, this one reads up to 1): upgrade ctrlplane, or choose another --name or --data-dir`,
		},
		"corrupt marker": {
			files: map[string]string{"d/ctrlplane.json": `{"for`},
			want:  `data folder DIR: ctrlplane.json is corrupt (unexpected end of JSON input): restore it from a backup, or choose another --name or --data-dir`,
		},
		"format below zero": {
			files: map[string]string{"d/ctrlplane.json": `{"format":-1}`},
			want:  `data folder DIR: ctrlplane.json is corrupt (format is -1): restore it from a backup, or choose another --name or --data-dir`,
		},
		"corrupt state": {
			files: map[string]string{"d/ctrlplane.json": `{"format":1}`, "d/state.json": "\x00\x00\n"},
			want:  `data folder DIR: state.json is corrupt (invalid character '\x00' looking for beginning of value): remove that file, and the next start chooses a new port`,
		},
		"impossible port": {
			files: map[string]string{"d/ctrlplane.json": `{"format":1}`, "d/state.json": `{"port":65536}`},
			want:  `data folder DIR: state.json is corrupt (port is 65536): remove that file, and the next start chooses a new port`,
		},
		"below a file": {
			files: map[string]string{"f": "x"},
			open:  "f/d",
			want:  `data folder DIR: cannot read it: stat DIR: not a directory: fix the cause, or choose another --data-dir`,
		},
		"name too long, below parents that are made first": {
			open: "made/and/removed/" + strings.Repeat("n", 300),
			want: `data folder DIR: cannot create it: mkdir DIR: file name too long: fix the cause, or choose another --data-dir`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if runtime.GOOS == "windows" {
				t.Skip("the system's own words differ")
			}
			parent := t.TempDir()
			testutil.WriteFiles(t, parent, test.files)
			before := readTree(t, parent)
			path := filepath.Join(parent, "d")
			if test.open != "" {
				path = filepath.Join(parent, test.open)
			}
			d, err := Open(t.Context(), path, 1)
			if err == nil {
				mustClose(t, d)
			}
			if diff := cmp.Diff(strings.ReplaceAll(test.want, "DIR", path), testutil.ErrorLine(t, err)); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			after := readTree(t, parent)
			delete(after, filepath.Join("d", lockFile)) // may stay in a data folder
			if diff := cmp.Diff(before, after); diff != "" {
				t.Errorf("left behind (-before +after):\n%s", diff)
			}
		})
	}
}
