package live

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a screen with a file of testdata, in which ^[ is an escape.
func golden(t *testing.T, m model) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(strings.TrimPrefix(t.Name(), "TestScreens/"))+".golden")
	got := strings.ReplaceAll(m.View().Content, "\x1b", "^[") + "\n"
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
