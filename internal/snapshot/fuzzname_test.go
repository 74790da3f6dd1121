package snapshot

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// FuzzCheckName: the file of an accepted name lies in the store's folder, and is not one
// of the files that the store makes itself.
func FuzzCheckName(f *testing.F) {
	for _, seed := range []string{"base", "20260101-120000", "..", ".", "a/b", `a\b`, "", "a.", ".tmp", "con", "a\n"} {
		f.Add(seed)
	}
	s := Store{Dir: filepath.FromSlash("/snapshots")}
	f.Fuzz(func(t *testing.T, name string) {
		if err := checkName(name); err != nil {
			if strings.IndexFunc(err.Error(), unicode.IsControl) >= 0 {
				t.Errorf("got %q", err)
			}
			return
		}
		if path := s.Path(name); filepath.Dir(path) != s.Dir || filepath.Base(path) != name || strings.HasPrefix(name, ".") {
			t.Errorf("%q is at %s", name, path)
		}
	})
}
