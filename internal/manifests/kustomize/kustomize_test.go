package kustomize

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/manifests"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// writeTree writes files below a folder.
func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	testutil.WriteFiles(t, dir, files)
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

// TestInputs has the files of an overlay and its base, also while one of them is broken.
func TestInputs(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"base/kustomization.yml":     "resources: [config.yaml]\nconfigMapGenerator: [{name: made, files: [note=note.txt]}]\n",
		"base/config.yaml":           "kind: [\n",
		"base/note.txt":              "hello\n",
		"base/other.yaml":            "",
		"broken/Kustomization":       "resources: [\n",
		"overlay/kustomization.yaml": "resources: [../base, ../broken]\npatches: [{path: patch.yaml}]\n",
		"overlay/patch.yaml":         "",
	})
	var got []string
	for _, path := range Inputs(filepath.Join(dir, "overlay")) {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, filepath.ToSlash(rel))
	}
	want := []string{"overlay/kustomization.yaml", "base/kustomization.yml", "base/config.yaml", "base/note.txt", "broken/Kustomization"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
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
		"config/kustomization.yaml":  "configMapGenerator: [{name: c, files: [a=missing.properties]}]\n",
		"folder/kustomization.yaml":  "resources: [missing//base]\n",
		"cycle/a/kustomization.yaml": "resources: [../b]\n",
		"cycle/b/kustomization.yaml": "resources: [../a]\n",
	})
	for name, want := range map[string]string{
		"url": "not fetched", "git": "not fetched", "below": "not fetched", "patch": "not fetched", "bad": "kustomization.yaml", "escape": "security",
		"none": "has no kustomization.yaml", "missing": "has no kustomization.yaml", "cycle/a": "cycle", "folder": "not fetched",
		"config": `config/kustomization.yaml: configMapGenerator: "missing.properties" does not exist: correct the path, or add it`,
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

// TestBuildFetchesNothing names a server wherever a kustomization may have a path.
func TestBuildFetchesNothing(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	const transformer = "{apiVersion: builtin, kind: PatchTransformer, metadata: {name: p}, path: 'URL'}"
	for name, text := range map[string]string{
		"resources":      "resources: ['URL']",
		"openapi":        "openapi: {path: 'URL'}",
		"patches":        "patches: [{path: 'URL'}]",
		"json6902":       "patchesJson6902: [{path: 'URL', target: {version: v1, kind: ConfigMap, name: c}}]",
		"merge":          "patchesStrategicMerge: ['URL']",
		"replacements":   "replacements: [{path: 'URL'}]",
		"crds":           "crds: ['URL']",
		"configurations": "configurations: ['URL']",
		"files":          "configMapGenerator: [{name: x, files: ['a=URL']}]",
		"envs":           "secretGenerator: [{name: x, envs: ['URL']}]",
		"inline":         "transformers:\n- |\n  " + transformer,
		"file":           "transformers: [plugin.yaml]",
		"folder":         "transformers: [plugins]",
		"patched folder": "transformers: [patched]",
		"generator":      "generators:\n- |\n  {apiVersion: builtin, kind: ConfigMapGenerator, metadata: {name: p}, files: ['a=URL']}",
		"validator":      "validators: [plugin.yaml]",
		"git folder":     "resources: [github.com/x/y]",
		"git file":       "resources: [github.com/x/y.yaml]",
		"component":      "components: [GitHub.com/x/y]",
		"user":           "resources: ['git@host:x/y']",
	} {
		fill := strings.NewReplacer("URL", server.URL+"/x.yaml").Replace
		config := "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n"
		dir := writeTree(t, map[string]string{
			"kustomization.yaml":                fill(text + "\n"),
			"plugin.yaml":                       fill(transformer),
			"plugins/kustomization.yaml":        "resources: [plugin.yaml]\n",
			"plugins/plugin.yaml":               fill(transformer),
			"patched/kustomization.yaml":        "resources: [plugin.yaml]\nnamePrefix: x\n",
			"patched/plugin.yaml":               strings.ReplaceAll(transformer, "URL", "x"),
			"github.com/x/y/kustomization.yaml": "resources: [c.yaml]\n",
			"github.com/x/y/c.yaml":             config,
			"github.com/x/y.yaml":               "x: [\n",
		})
		_, err := Build(dir)
		if err == nil || !strings.Contains(err.Error(), "not fetched") && !strings.Contains(err.Error(), "nothing but resources") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if n := requests.Load(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestBuildLocalPlugins has the same kinds of references, to files.
func TestBuildLocalPlugins(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"kustomization.yaml": "resources: [./github.com/x/y]\ntransformers:\n- plugins\n- |\n  {apiVersion: builtin, kind: PrefixTransformer, metadata: {name: p}, prefix: a-, fieldSpecs: [{path: metadata/name}]}\n" +
			"patchesStrategicMerge:\n- |\n  {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {home: 'https://example.com'}}\ncommonAnnotations: {home: 'https://example.com'}\n",
		"github.com/x/y/kustomization.yaml": "resources: [c.yaml]\n",
		"github.com/x/y/c.yaml":             "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}\n",
		"plugins/kustomization.yaml":        "resources: [plugin.yaml]\n",
		"plugins/plugin.yaml":               "{apiVersion: builtin, kind: NamespaceTransformer, metadata: {name: p, namespace: shop}, fieldSpecs: [{path: metadata/namespace, create: true}]}\n",
	})
	text, err := Build(dir)
	if err != nil || !strings.Contains(string(text.Data), "name: a-c") || !strings.Contains(string(text.Data), "namespace: shop") {
		t.Errorf("%v:\n%s", err, text.Data)
	}
}
