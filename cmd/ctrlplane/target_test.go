package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/datadir"
)

// TestRenamedDataFolder names a control plane by its folder, as other verbs do, not by the name that it has started with.
func TestRenamedDataFolder(t *testing.T) {
	enterHome(t)
	path, err := datadir.Path("default", "")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := datadir.Open(t.Context(), path, datadir.FormatVersion)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close() // its error is that it was renamed
	if err := dir.SaveState(datadir.State{Name: "default", Server: "https://127.0.0.1:1"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path, path+"-x"); err != nil {
		t.Skip("the system does not rename a folder that is in use: ", err)
	}
	found, err := peekEach(dataDirs, func(candidate) bool { return true })
	if err != nil || len(found) != 1 || found[0].state.Name != "default-x" {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestInKubeconfig(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]bool{
		filepath.Join(dir, "kubeconfig"):                  true,
		filepath.ToSlash(dir) + "//kubeconfig":            true,
		filepath.Join(dir, "kubeconfig.default.deployer"): true,
		filepath.Join(dir, "config"):                      false,
		filepath.Join(filepath.Dir(dir), "kubeconfig"):    false,
		filepath.Join(dir, "below", "kubeconfig"):         false,
		"kubeconfig": false,
		"":           false,
	} {
		t.Setenv("KUBECONFIG", path)
		if got := inKubeconfig(dir); got != want {
			t.Errorf("%q: %t, want %t", path, got, want)
		}
	}
}
