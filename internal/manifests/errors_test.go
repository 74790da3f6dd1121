package manifests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/usage"
)

// TestLoadAllErrors has several mistakes in several files and a text.
func TestLoadAllErrors(t *testing.T) {
	t.Chdir(t.TempDir())
	testutil.WriteFiles(t, ".", map[string]string{
		"a.yaml": "kind: [\n---\nkind: ConfigMap\n---\n" + configMapManifest("good") + "---\nx: [\n",
		"b.yaml": "apiVersion: v1\nkind: List\nitems: [1, {apiVersion: v1, kind: Pod}]\n",
	})
	_, err := LoadAll(t.Context(), []string{"a.yaml", "missing.yaml", "b.yaml"}, []Text{{"kustomization k", []byte("1\n")}})
	if err == nil {
		t.Fatal("no error")
	}
	var places []string
	for _, line := range ErrorLines(err) {
		place, _, _ := strings.Cut(strings.TrimPrefix(line, "manifests: "), ": ")
		places = append(places, place)
	}
	want := []string{"a.yaml:1", "a.yaml:3", "a.yaml:10", "missing.yaml", "b.yaml:1, item 1", "b.yaml:1, item 2", "kustomization k:1"}
	if diff := cmp.Diff(want, places); diff != "" {
		t.Errorf("(-want +got):\n%s\n%v", diff, err)
	}
	if !strings.HasPrefix(err.Error(), "manifests: 7 errors: a.yaml:1: ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %q", err)
	}
}

// TestWrongManifests tells mistakes, with which another attempt fails, too, from failures.
func TestWrongManifests(t *testing.T) {
	t.Chdir(t.TempDir())
	testutil.WriteFiles(t, ".", map[string]string{"bad.yaml": "kind: [\n", "empty.yaml": "# nothing\n", "none/a.txt": ""})
	isMistake := func(err error) bool { return errors.As(err, new(usage.Error)) }
	for _, path := range []string{"bad.yaml", "empty.yaml", "none", "missing.yaml", "bad.yaml/x", "-", "", "https://x/a.yaml"} {
		if _, err := Load(t.Context(), []string{path}); !isMistake(err) {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := ListRecursively([]string{"none"}); !isMistake(err) {
		t.Errorf("a tree without manifests: %v", err)
	}
	if os.Symlink("loop", "loop") == nil {
		if _, err := Load(t.Context(), []string{"loop"}); err == nil || isMistake(err) {
			t.Errorf("a file that cannot be read: %v", err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Load(ended, []string{"bad.yaml"}); err == nil || isMistake(err) && errors.Is(err, context.Canceled) {
		t.Errorf("after an interruption: %v", err)
	}
}

func TestManyErrors(t *testing.T) {
	var list []error
	for i := range maxErrors + 2 {
		list = append(list, fmt.Errorf("a.yaml:%d: x", i+1))
	}
	lines := ErrorLines(asError(list))
	if len(lines) != maxErrors+1 || lines[maxErrors-1] != "manifests: a.yaml:10: x" || lines[maxErrors] != "manifests: 2 more errors" {
		t.Errorf("got %q", lines)
	}
	if lines := ErrorLines(errors.New("a\nb")); !cmp.Equal(lines, []string{"a\nb"}) {
		t.Errorf("another error: %q", lines)
	}
}

func TestDuplicates(t *testing.T) {
	objs := mustLoad(t, configMapManifest("a"), manifest("v1", "Secret", "a"),
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: other}\n",
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n")
	want := []string{objs[3].Source + ": ConfigMap default/a is defined in " + objs[0].Source + ", too: the last one is what remains"}
	if diff := cmp.Diff(want, Duplicates(objs)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
