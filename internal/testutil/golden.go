// Package testutil has helpers that the tests of several packages share.
package testutil

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite golden files")

// visible shows the control characters that a golden file may contain as text,
// so that the file can be read and reviewed.
var visible = strings.NewReplacer("\x1b", "^[", "\r", "^M")

// Update reports whether the test was started with -update: a test that compares
// with a file in a way of its own then rewrites it.
func Update() bool { return *update }

// Golden compares got with the file at path, relative to the package's folder.
// With -update it writes the file instead. The file shows escapes as ^[ and
// carriage returns as ^M.
func Golden(t testing.TB, path string, got []byte) {
	t.Helper()
	path = filepath.FromSlash(path)
	text := visible.Replace(string(got))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v: run the test with -update to create it", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// A checkout on Windows may end lines with a carriage return.
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), text); diff != "" {
		t.Errorf("%s differs; if that is intended, run the test with -update (-want +got):\n%s", path, diff)
	}
}
