package main

import (
	"path/filepath"
	"testing"
)

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
