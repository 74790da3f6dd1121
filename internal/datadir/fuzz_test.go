package datadir

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/util/validation"
)

// FuzzValidateName: an accepted name is a DNS label, as the names of clusters in
// kubeconfigs that are made of it have to be, and stays in the state folder.
func FuzzValidateName(f *testing.F) {
	for _, seed := range []string{"default", "a-b", "-a", "a-", "..", "a/b", "", "ä", "con", "a\n", strings.Repeat("a", 64)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if err := ValidateName(name); err != nil {
			if strings.IndexFunc(err.Error(), unicode.IsControl) >= 0 {
				t.Errorf("got %q", err)
			}
			return
		}
		if msgs := validation.IsDNS1123Label(name); len(msgs) > 0 || filepath.Base(name) != name {
			t.Errorf("%q: %v", name, msgs)
		}
	})
}
