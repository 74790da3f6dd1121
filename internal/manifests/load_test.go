package manifests

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/text/encoding/unicode"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// configMapManifest returns the manifest of a ConfigMap.
func configMapManifest(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
}

func TestLoadPaths(t *testing.T) {
	files := map[string]string{
		"d/b.yaml":       configMapManifest("b"),
		"d/a.yml":        configMapManifest("a"),
		"d/c.json":       `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}`,
		"d/notes.txt":    "not a manifest",
		"d/below/x.yaml": configMapManifest("x"),
		"one.manifest":   configMapManifest("one"),
		"comments.yaml":  "# nothing\n---\n# here\n",
		"empty.yaml":     "",
		"texts/a.txt":    "",
	}
	tests := []struct {
		name  string
		paths []string
		want  []string
		err   string
	}{
		{"folder, by name and not below", []string{"d"}, []string{"d/a.yml:1", "d/b.yaml:1", "d/c.json:1"}, ""},
		{"file with any ending", []string{"one.manifest"}, []string{"one.manifest:1"}, ""},
		{"in the order given", []string{"one.manifest", "d/b.yaml"}, []string{"one.manifest:1", "d/b.yaml:1"}, ""},
		{"empty beside others", []string{"comments.yaml", "empty.yaml", "d/b.yaml"}, []string{"d/b.yaml:1"}, ""},
		{"nothing at all", []string{"comments.yaml", "empty.yaml"}, nil, "manifests: no object in comments.yaml, empty.yaml: add one, or leave it out"},
		{"unknown path", []string{"d", "nope.yaml"}, nil, "manifests: nope.yaml: "},
		{"folder without manifests", []string{"texts"}, nil, "manifests: texts: no *.yaml, *.yml or *.json file in this folder (its subfolders are not read)"},
	}
	t.Chdir(t.TempDir())
	testutil.WriteFiles(t, ".", files)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			objs, err := Load(t.Context(), tt.paths)
			if tt.err != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tt.err) || strings.Contains(err.Error(), "\n") {
					t.Errorf("error is %v, want one line that begins with %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objs {
				got = append(got, filepath.ToSlash(o.Source))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("sources (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadUnreadable(t *testing.T) {
	if runtime.GOOS == "windows" || os.Geteuid() == 0 {
		t.Skip("everything can be read here")
	}
	path := filepath.Join(t.TempDir(), "a.yaml")
	if err := os.WriteFile(path, nil, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), []string{path}); err == nil || !strings.HasSuffix(err.Error(), path+": permission denied") {
		t.Errorf("error is %v", err)
	}
}

func TestLoadContent(t *testing.T) {
	utf16, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(configMapManifest("wide"))
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, content string
		want          []string // line and name
	}{
		{"one", configMapManifest("a"), []string{"1 ConfigMap a"}},
		{"documents", configMapManifest("a") + "---\n" + configMapManifest("b") + "--- # next\n\n# of it\n" + configMapManifest("c"), []string{"1 ConfigMap a", "6 ConfigMap b", "13 ConfigMap c"}},
		{"empty documents", "---\n---\n# nothing\n---\n\n" + configMapManifest("a") + "---\nnull\n---\n", []string{"6 ConfigMap a"}},
		{"comment before", "# one\n\n# two\n" + configMapManifest("a"), []string{"4 ConfigMap a"}},
		{"directive", "%YAML 1.1\n---\n" + configMapManifest("a"), []string{"3 ConfigMap a"}},
		{"object on the line of its separator", "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n--- {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}", []string{"1 ConfigMap a", "2 ConfigMap b"}},
		{"end marker", configMapManifest("a") + "...\n---\n" + configMapManifest("b") + "... # end\n" + configMapManifest("c"), []string{"1 ConfigMap a", "7 ConfigMap b", "12 ConfigMap c"}},
		{"dashes in a text", configMapManifest("a") + "data:\n  x: |\n    ---\n    y\n  z: ---x\n", []string{"1 ConfigMap a"}},
		{"CR LF", strings.ReplaceAll(configMapManifest("a")+"---\n"+configMapManifest("b"), "\n", "\r\n"), []string{"1 ConfigMap a", "6 ConfigMap b"}},
		{"UTF-8 mark", "\ufeff" + configMapManifest("a"), []string{"1 ConfigMap a"}},
		{"UTF-16", utf16, []string{"1 ConfigMap wide"}},
		{"JSON", "\n{\n\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\"}}", []string{"2 ConfigMap a"}},
		{
			"JSON one after the other", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}
{"apiVersion":"v1","kind":"ConfigMap",
 "metadata":{"name":"b"}} {"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"}}
---
{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"d"}}`,
			[]string{"1 ConfigMap a", "2 ConfigMap b", "3 ConfigMap c", "5 ConfigMap d"},
		},
		{"YAML that begins like JSON", "{apiVersion: v1, kind: ConfigMap,\n metadata: {name: a}} # really", []string{"1 ConfigMap a"}},
		{
			"list", `apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: ns}}
- apiVersion: v1
  kind: List
  items:
  - {apiVersion: v1, kind: Secret, metadata: {name: b}}
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: c}
`,
			[]string{"1, item 1 ConfigMap ns/a", "1, item 2, item 1 Secret b", "1, item 3 Deployment c"},
		},
		{"typed list", "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: a}\n- {kind: ConfigMap, metadata: {name: b}}\n", []string{"1, item 1 ConfigMap a", "1, item 2 ConfigMap b"}},
		{"empty list", "apiVersion: v1\nkind: List\nitems: []\n---\n" + configMapManifest("a"), []string{"5 ConfigMap a"}},
		{"list of null", "apiVersion: v1\nkind: List\nitems:\n---\n" + configMapManifest("a"), []string{"5 ConfigMap a"}},
		{"kind that only ends like a list", "apiVersion: x.io/v1\nkind: AllowList\nmetadata: {name: a}\n", []string{"1 AllowList a"}},
		{"kind that only has items", "apiVersion: x.io/v1\nkind: Basket\nmetadata: {name: a}\nitems: []\n", []string{"1 Basket a"}},
		{"namespace of null", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: null}\n", []string{"1 ConfigMap a"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			testutil.WriteFiles(t, filepath.Dir(path), map[string]string{"a.yaml": tt.content})
			objs, err := Load(t.Context(), []string{path})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range objs {
				got = append(got, fmt.Sprint(strings.TrimPrefix(o.Source, path+":"), " ", o))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLoadValues checks that values are decoded as the server decodes them: whole
// numbers as such, and YAML 1.1's words for true and false.
func TestLoadValues(t *testing.T) {
	dir := t.TempDir()
	testutil.WriteFiles(t, dir, map[string]string{
		"a.yaml": "apiVersion: v1\nkind: X\nmetadata: {name: a}\nbig: 9007199254740993\nhalf: 0.5\nyes: yes\noctal: 0644\ntext: \"1\"\n1: one\n",
		"b.json": `{"apiVersion":"v1","kind":"X","metadata":{"name":"b"},"big":9007199254740993,"half":0.5,"text":"1"}`,
	})
	objs, err := Load(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	want := []map[string]any{
		{"big": int64(9007199254740993), "half": 0.5, "true": true, "octal": int64(420), "text": "1", "1": "one"},
		{"big": int64(9007199254740993), "half": 0.5, "text": "1"},
	}
	for i, o := range objs {
		for _, key := range []string{"apiVersion", "kind", "metadata"} {
			delete(o.Object, key)
		}
		if diff := cmp.Diff(want[i], o.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", o.Source, diff)
		}
	}
}

// TestLoadMerges checks that a key may override a merged one.
func TestLoadMerges(t *testing.T) {
	dir := t.TempDir()
	testutil.WriteFiles(t, dir, map[string]string{
		"a.yaml": `apiVersion: v1
kind: X
metadata:
  name: a
  labels: &common {app: shop, tier: none}
selector: {<<: *common, tier: web}
both:
  <<: [*common, {tier: db, zone: east}]
  zone: west
`,
		"b.yaml": `{apiVersion: v1, kind: X, metadata: {name: b, labels: &common {app: shop}}, selector: {<<: *common, app: web}}`,
	})
	objs, err := Load(t.Context(), []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{objs[0].Object["selector"], objs[0].Object["both"], objs[1].Object["selector"]}
	want := []any{
		map[string]any{"app": "shop", "tier": "web"},
		map[string]any{"app": "shop", "tier": "none", "zone": "west"},
		map[string]any{"app": "web"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadRefuses(t *testing.T) {
	ok := configMapManifest("a") + "---\n" // 5 lines
	tests := []struct {
		name, content, want string // after the path
	}{
		{"broken YAML", ok + "apiVersion: v1\nkind: X\n  metadata: {}\n", ":8: mapping values are not allowed in this context"},
		{"tab", ok + "apiVersion: v1\nmetadata:\n\tname: a\n", ":8: found character that cannot start any token"},
		{"key before a merge that has it", "base: &b {tier: none}\nall: &a [*b]\nlabels: {tier: web, <<: *a}\n", `:3: << would replace key "tier", which precedes it: put << first`},
		{"key twice", ok + "apiVersion: v1\nkind: X\nmetadata:\n  name: a\n  name: b\n", `:10: key "name" already set in map`},
		{"two keys twice", ok + "kind: X\nkind: X\nmetadata:\n  name: a\n  name: b\n", `:7: key "kind" already set in map`},
		{"key twice beside a merged one", ok + "kind: X\nmetadata: &m\n  name: a\nspec:\n  <<: *m\n  name: b\nlist:\n- {c: 1, \"c\": 2}\n", `:13: key "c" already set in map`},
		{"merge of a text", ok + "kind: &k X\nmetadata: {<<: *k}\n", ":6: yaml: map merge requires map or sequence of maps as the value"},
		{"template", ok + "apiVersion: v1\nkind: {{ .Values.kind }}\n", ":6: yaml: invalid map key: "},
		{"broken JSON", ok + "{\"apiVersion\": \"v1\",\n\"kind\" \"X\"}\n", `:7: JSON: invalid character '"' after object key`},
		{"cut JSON", ok + "{\"apiVersion\": \"v1\",\n\"kind\":\n\n", ":7: JSON: unexpected EOF"},
		{"text behind JSON", ok + "{\"apiVersion\": \"v1\"}\nmore", ":7: JSON: invalid character 'm'"},
		{"JSON with a comma between", ok + "{\"apiVersion\": \"v1\"},{\"apiVersion\": \"v1\"}", ":6: JSON: invalid character ','"},
		{"text behind YAML in braces", ok + "{apiVersion: v1}\nmore", ":6: JSON: invalid character 'a'"},
		{"JSON key twice", ok + "{\"apiVersion\": \"v1\"}\n{\"kind\": \"X\",\n\"kind\": \"Y\"}", `:7: JSON: duplicate field "kind"`},
		{"text", ok + "hello\n", ":6: not an object but a string"},
		{"list", ok + "- a\n", ":6: not an object but a list"},
		{"no apiVersion", ok + "kind: X\nmetadata: {name: a}\n", ":6: apiVersion is missing"},
		{"no kind", ok + "apiVersion: v1\nmetadata: {name: a}\n", ":6: kind is missing"},
		{"empty kind", ok + "apiVersion: v1\nkind: \"\"\n", ":6: kind is missing"},
		{"bad apiVersion", ok + "apiVersion: a/b/c\nkind: X\n", ":6: apiVersion: unexpected GroupVersion string: a/b/c"},
		{"number for a version", ok + "apiVersion: 1\nkind: X\n", ":6: apiVersion is a number instead of a string: put it in quotes"},
		{"no metadata", ok + "apiVersion: v1\nkind: X\n", ":6: X: metadata.name is missing"},
		{"metadata of text", ok + "apiVersion: v1\nkind: X\nmetadata: a\n", ":6: X: metadata.name is missing"},
		{"number for a name", ok + "apiVersion: v1\nkind: X\nmetadata: {name: 12}\n", ":6: X: metadata.name is a number instead of a string: put it in quotes"},
		{"true for a namespace", ok + "apiVersion: v1\nkind: X\nmetadata: {name: a, namespace: yes}\n", ":6: X: metadata.namespace is a boolean instead of a string: put it in quotes"},
		{"generated name", ok + "apiVersion: v1\nkind: X\nmetadata: {generateName: a-}\n", ":6: X: generated names are not supported: write metadata.name in place of metadata.generateName"},
		{"item", ok + "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: X, metadata: {name: a}}\n- {apiVersion: v1, metadata: {name: b}}\n", ":6, item 2: kind is missing"},
		{"item of null", ok + "apiVersion: v1\nkind: List\nitems:\n-\n", ":6, item 1: not an object but null"},
		{"items of text", ok + "apiVersion: v1\nkind: List\nitems: a\n", ":6: List: items is not a list but a string"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.yaml")
			testutil.WriteFiles(t, filepath.Dir(path), map[string]string{"a.yaml": tt.content})
			_, err := Load(t.Context(), []string{path})
			if want := "manifests: " + path + tt.want; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Fatalf("error is\n%v\nwant it to begin with\n%s", err, want)
			}
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("error has several lines: %q", err)
			}
		})
	}
}
