package datadir

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestRemoveRefusesOtherFolders(t *testing.T) {
	const marked = `{"format":1}`
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"marker of a project":    {map[string]string{markerFile: `{"name":"app"}`, "src/main.go": "package main"}, markerFile + " is not the one of a data folder"},
		"marker that is no JSON": {map[string]string{markerFile: "control plane"}, markerFile + " is corrupt"},
		"empty marker":           {map[string]string{markerFile: ""}, markerFile + " is corrupt"},
		"other files": {
			map[string]string{markerFile: marked, "kubeconfig": "", "src/main.go": "package main", ".git/HEAD": "ref"},
			`contains ".git", "src", which ctrlplane has not created`,
		},
		"a log of another program": {map[string]string{markerFile: marked, "ctrlplane.log.old": ""}, `contains "ctrlplane.log.old"`},
	} {
		t.Run(name, func(t *testing.T) {
			path := t.TempDir()
			testutil.WriteFiles(t, path, tt.files)
			before := readTree(t, path)
			if got := testutil.ErrorLine(t, Remove(t.Context(), path)); !strings.Contains(got, tt.want) || !strings.Contains(got, path) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if diff := cmp.Diff(before, readTree(t, path)); diff != "" {
				t.Errorf("changed: -before +after:\n%s", diff)
			}
		})
	}
}

func TestRemoveAllThatIsWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	files := map[string]string{markerFile: `{"format":1}`, lockFile: ""}
	for _, name := range []string{
		pidFile, stateFile, pkiDir + "/ca.crt", "etcd/member/snap/db", "kubeconfig", ".kubeconfig.new-12", "kubeconfig.shop.the-operator.v2", ".kubeconfig.shop.operator.new-12", "restore", "restore-owner",
		"unfinished.snapshot", "unfinished-2.snapshot", "stderr.log",
		"ctrlplane.log", "ctrlplane.log.1", "ctrlplane.log.12", ".new-345",
	} {
		files[name] = "content"
	}
	testutil.WriteFiles(t, path, files)
	if err := Remove(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after Remove: %v", err)
	}
}

// The log may have another name, which the state records.
func TestRemoveKnowsTheLogFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	state := `{"logFile":` + strconv.Quote(filepath.Join(path, "my.log")) + `}`
	files := map[string]string{markerFile: `{"format":1}`, lockFile: "", stateFile: state, "my.log": "", "my.log.1": "", "my.log.old": ""}
	testutil.WriteFiles(t, path, files)
	if got := testutil.ErrorLine(t, Remove(t.Context(), path)); !strings.Contains(got, `contains "my.log.old", which`) {
		t.Errorf("got %s", got)
	}
	if err := os.Remove(filepath.Join(path, "my.log.old")); err != nil {
		t.Fatal(err)
	}
	if err := Remove(t.Context(), path); err != nil {
		t.Error(err)
	}
}

// TestRemoveKeepsMarkerUntilTheEnd checks the order, so that a data folder whose removal is
// interrupted is still found as one.
func TestRemoveKeepsMarkerUntilTheEnd(t *testing.T) {
	path := t.TempDir()
	testutil.WriteFiles(t, path, map[string]string{markerFile: `{"format":1}`, lockFile: "", "etcd/": "", "kubeconfig": "", stateFile: ""})
	entries, err := os.ReadDir(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"etcd", "kubeconfig", stateFile, markerFile, lockFile}, removalOrder(entries)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
