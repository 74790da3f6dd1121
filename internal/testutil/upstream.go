package testutil

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// UpstreamSource returns the source of a file of a module that this one requires, at
// the required version. Tests compare copies of upstream's texts with it.
func UpstreamSource(t testing.TB, module, path string) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		t.Fatalf("go list -m %s: %v", module, err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}
