package kustomize

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/manifests"
)

// writeTree writes files below a folder.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestBuild(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"base/kustomization.yaml":    "resources: [config.yaml]\nconfigMapGenerator: [{name: made, literals: [a=b], files: [note=note.txt]}]\n",
		"base/config.yaml":           "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n",
		"base/note.txt":              "hello\n",
		"overlay/kustomization.yaml": "namespace: shop\nnamePrefix: dev-\nresources: [../base]\n",
	})
	text, err := Build(filepath.Join(dir, "overlay"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifests.LoadTexts([]manifests.Text{text})
	if err != nil || len(objects) != 2 {
		t.Fatalf("%d objects, %v:\n%s", len(objects), err, text.Data)
	}
	for _, o := range objects {
		if o.GetNamespace() != "shop" || !strings.HasPrefix(o.GetName(), "dev-") {
			t.Errorf("got %s", o)
		}
	}
}

func TestBuildErrors(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"url/kustomization.yaml":     "resources: ['https://example.com/x.yaml']\n",
		"git/kustomization.yaml":     "resources: ['github.com/example/x?ref=v1']\n",
		"below/kustomization.yaml":   "resources: [../git]\n",
		"patch/kustomization.yaml":   "patches: [{path: 'https://example.com/p.yaml'}]\n",
		"bad/kustomization.yaml":     "resources: [\n",
		"escape/kustomization.yaml":  "resources: [../outside.yaml]\n",
		"outside.yaml":               "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n",
		"none/other.yaml":            "",
		"cycle/a/kustomization.yaml": "resources: [../b]\n",
		"cycle/b/kustomization.yaml": "resources: [../a]\n",
	})
	for name, want := range map[string]string{
		"url": "not fetched", "git": "not fetched", "below": "not fetched", "patch": "not fetched", "bad": "kustomization.yaml", "escape": "security",
		"none": "has no kustomization.yaml", "missing": "has no kustomization.yaml", "cycle/a": "cycle",
	} {
		_, err := Build(filepath.Join(dir, name))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "-k ") {
			t.Errorf("%s: got %v, want %q", name, err, want)
		}
	}
	if _, err := Build("https://example.com/x"); err == nil || !strings.Contains(err.Error(), "download it first") {
		t.Errorf("a URL: %v", err)
	}
}
