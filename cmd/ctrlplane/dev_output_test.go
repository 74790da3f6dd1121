package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/filewatch"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// The line "[dev] watching" names what is a source: a user sees that a file is none.
func TestDescribeSources(t *testing.T) {
	for want, files := range map[string][]string{
		"sources: *.yaml, *.py":              {"/w/a.py", "/w/b/c.py", "/w/d.yaml"},
		"no file in --watch matches --match": nil,
		"1 source":                           {"/w/operator.conf"}, // named by --watch
	} {
		if got := describeSources(defaultMatch, files); got != want {
			t.Errorf("%q: got %q, want %q", files, got, want)
		}
	}
}

// Manifests that are watched in --watch, too, are not sources, unless they match.
func TestSourceFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"operator.py", "lib/x.py", "crds/site.json", "notes.txt", "bin/operator"} {
		testutil.WriteFile(t, name, "")
	}
	for name, tc := range map[string]struct {
		d    *devCommand
		want []string
	}{
		"matching":             {&devCommand{watch: []string{"."}, match: []string{"*.py"}}, []string{"lib/x.py", "operator.py"}},
		"none":                 {&devCommand{watch: []string{"."}, match: []string{"*.rb"}}, nil},
		"named by the command": {&devCommand{watch: []string{"."}, match: []string{"*.rb"}, sources: []string{"operator.py"}}, []string{"operator.py"}},
		"named, and matching":  {&devCommand{watch: []string{"."}, match: []string{"*.py"}, sources: []string{"operator.py"}}, []string{"lib/x.py", "operator.py"}},
		"named by --watch":     {&devCommand{watch: []string{"notes.txt"}, match: []string{"*.rb"}}, []string{"notes.txt"}},
		"several times":        {&devCommand{watch: []string{".", "lib"}, match: []string{"*.py"}}, []string{"lib/x.py", "operator.py"}},
		"in a folder left out": {&devCommand{watch: []string{"."}, match: []string{"*.rb"}, sources: []string{"bin/operator"}}, []string{"bin/operator"}},
		"folder of go run":     {&devCommand{watch: []string{"crds"}, match: []string{"*.py"}, sources: []string{"lib"}}, []string{"lib/x.py"}},
		"manifests that match": {&devCommand{watch: []string{"."}, match: []string{"*.json"}}, []string{"crds/site.json"}},
	} {
		d := tc.d
		d.plane.crds = []string{"crds"}
		var err error
		if d.watcher, err = filewatch.New(filewatch.Config{Roots: d.watchRoots()}); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, path := range tc.want {
			path, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, path)
		}
		if got := d.sourceFiles(); !slices.Equal(got, want) {
			t.Errorf("%s: got %q", name, got)
		}
		if err := d.watcher.Close(); err != nil {
			t.Error(err)
		}
	}
}
