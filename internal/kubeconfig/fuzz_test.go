package kubeconfig

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// FuzzMerge merges into any file: the file either stays as it is with an error, or is a
// kubeconfig with the new context, from which Unmerge removes it again.
func FuzzMerge(f *testing.F) {
	for _, seed := range []string{
		"", "apiVersion: v1\nkind: Config\n", "{}", "null", "contexts: [", "current-context: a\ncontexts:\n- name: a\n  context: {cluster: b, user: c}\n",
		"clusters:\n- name: ctrlplane-fuzz\n  cluster: {server: https://example.com}\n", "users: {}\n", "\x00",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := testutil.WriteFile(t, filepath.Join(t.TempDir(), "config"), data)
		t.Setenv("KUBECONFIG", path)
		const name = "ctrlplane-fuzz"
		if _, err := Merge(name, New(name, "https://127.0.0.1:6443", []byte("ca"), []byte("cert"), []byte("key"))); err != nil {
			if after, readErr := os.ReadFile(path); readErr != nil || string(after) != string(data) {
				t.Errorf("a merge that failed with %v changed the file: %q, %v", err, after, readErr)
			}
			return
		}
		merged, err := clientcmd.LoadFromFile(path)
		if err != nil {
			t.Fatalf("the merged file cannot be read: %v", err)
		}
		if merged.CurrentContext != name || merged.Contexts[name] == nil {
			t.Errorf("the context is missing: %+v", merged)
		}
		if err := Unmerge(name, New(name, "https://127.0.0.1:6443", []byte("ca"), nil, nil)); err != nil {
			t.Fatal(err)
		}
		if left, err := clientcmd.LoadFromFile(path); err == nil && left.Contexts[name] != nil {
			t.Error("the context is still there after Unmerge")
		}
	})
}
