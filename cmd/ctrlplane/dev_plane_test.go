package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/filewatch"
)

// A file of a kustomization that changes once it is watched is either read then or a change: nothing between is lost.
func TestLoadWatchesBeforeItBuilds(t *testing.T) {
	top := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("overlay/kustomization.yaml", "resources: [../base]\n")
	write("base/kustomization.yaml", "namePrefix: old-\nconfigMapGenerator: [{name: note, options: {disableNameSuffixHash: true}}]\n")
	p := devPlane{manifests: manifestFlags{kustomize: []string{filepath.Join(top, "overlay")}}}
	p.watch = func(paths []string) {
		if len(paths) != 2 {
			t.Errorf("watched are %q", paths)
		}
		write("base/kustomization.yaml", "namePrefix: new-\nconfigMapGenerator: [{name: note, options: {disableNameSuffixHash: true}}]\n")
	}
	objs, err := p.load(t.Context())
	if err != nil || len(objs) != 1 || objs[0].GetName() != "new-note" {
		t.Errorf("loaded are %v, %v", objs, err)
	}
}

// A file that a kustomization does not consist of any more may be removed with its folder, or come back.
func TestRemovedInputsAreNoWarning(t *testing.T) {
	top := t.TempDir()
	base := filepath.Join(top, "base", "kustomization.yaml")
	if err := os.Mkdir(filepath.Dir(base), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(base, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	watcher, err := filewatch.New(filewatch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Close()
	var out bytes.Buffer
	d := devCommand{watcher: watcher, output: newDevOutput(&out, viewPlain)}
	d.watchInputs([]string{base})
	if err := os.RemoveAll(filepath.Dir(base)); err != nil {
		t.Fatal(err)
	}
	d.watchInputs([]string{base, filepath.Join(top, "later", "x.yaml")})
	if out.Len() > 0 {
		t.Errorf("dev says: %s", out.String())
	}
}
