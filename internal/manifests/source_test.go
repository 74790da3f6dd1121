package manifests

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

func TestURLsAreRefused(t *testing.T) {
	for path, want := range map[string]string{
		"https://example.com/x.yaml": "download it first", "HTTP://x": "download it first", "file:///x": "download it first", "-": "standard input", "": "empty",
	} {
		for name, load := range map[string]func([]string) error{
			"Load":            func(paths []string) error { _, err := Load(t.Context(), paths); return err },
			"ListRecursively": func(paths []string) error { _, err := ListRecursively(paths); return err },
		} {
			if err := load([]string{path}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %q: got %v", name, path, err)
			}
		}
	}
}

func TestListRecursively(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b/c/d.yml", "b/x.txt", "a.yaml", "z.json", "b/b.yaml"} {
		testutil.WriteFile(t, filepath.Join(dir, filepath.FromSlash(name)), "")
	}
	got, err := ListRecursively([]string{dir, filepath.Join(dir, "b", "x.txt")})
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		rel, err := filepath.Rel(dir, got[i])
		if err != nil {
			t.Fatal(err)
		}
		got[i] = filepath.ToSlash(rel)
	}
	want := []string{"a.yaml", "b/b.yaml", "b/c/d.yml", "z.json", "b/x.txt"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, path := range []string{filepath.Join(dir, "missing"), t.TempDir()} {
		if _, err := ListRecursively([]string{path}); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v", path, err)
		}
	}
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func TestTexts(t *testing.T) {
	if _, err := ReadStdin(endless{}); err == nil || !strings.Contains(err.Error(), "longer than 128 MiB") {
		t.Errorf("got %v", err)
	}
	text, err := ReadStdin(strings.NewReader("{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n---\n{apiVersion: v1}"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := LoadTexts([]Text{text}); err == nil || !strings.Contains(err.Error(), "manifests: standard input:3: kind is missing") {
		t.Errorf("got %v", err)
	}
	if _, err := LoadTexts([]Text{{"x", []byte("# nothing")}}); err == nil || !strings.Contains(err.Error(), "no object in x") {
		t.Errorf("got %v", err)
	}
}
