// Package testutil has helpers that the tests of several packages share.
package testutil

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
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

// Golden compares got with a file, whose path is relative to the package's folder.
// With -update it writes the file instead. The file shows escapes as ^[ and
// carriage returns as ^M.
func Golden(t testing.TB, file string, got []byte) {
	t.Helper()
	file = filepath.FromSlash(file)
	text := visible.Replace(string(got))
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%v: %s creates it", err, updateCommand(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	// A checkout on Windows may end lines with a carriage return.
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), text); diff != "" {
		t.Errorf("%s differs; if that is intended, %s rewrites it (-want +got):\n%s", file, updateCommand(t), diff)
	}
}

// updateCommand returns the command that rewrites the golden files of a test, for the top folder of its module.
func updateCommand(t testing.TB) string {
	t.Helper()
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	pkg := "."
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		pkg = path.Join(filepath.Base(folder), pkg)
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	return fmt.Sprintf("go test ./%s -run '^%s$' -update", pkg, test)
}
