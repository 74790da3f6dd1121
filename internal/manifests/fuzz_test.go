package manifests

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// FuzzLoad reads any file as manifests: it returns objects with a kind and a source, or
// an error of one line that names the file.
func FuzzLoad(f *testing.F) {
	for _, seed := range []string{
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n",
		"---\n# only a comment\n---\n{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"a\"}}]}",
		"apiVersion: v1\nkind: List\nitems: null\n",
		"\xff\xfea\x00:\x00 \x001\x00",
		"a: &a [*a]\n",
		"kind: [",
		"--- {a: 1} ---\n...\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := testutil.WriteFile(t, filepath.Join(t.TempDir(), "fuzz.yaml"), data)
		objects, err := Load(t.Context(), []string{path})
		if err != nil {
			if msg := err.Error(); !strings.Contains(msg, "fuzz.yaml") || strings.Contains(msg, "\n") {
				t.Errorf("the error is not one line that names the file: %q", msg)
			}
			return
		}
		for _, o := range objects {
			if o.GetKind() == "" || o.Source == "" || o.Unstructured == nil {
				t.Errorf("an object without kind or source: %+v", o)
			}
		}
	})
}
