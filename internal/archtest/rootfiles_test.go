package archtest

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestEachRootFileIsOnTheMap: the table of the root package names all of its files.
func TestEachRootFileIsOnTheMap(t *testing.T) {
	page := testutil.ReadFile(t, filepath.Join(root, "docs/architecture.md"))
	_, table, _ := strings.Cut(page, "### The root package")
	table, _, _ = strings.Cut(table, "\n### ")
	files, err := filepath.Glob(filepath.Join(root, "*.go"))
	if err != nil || len(files) < 30 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		if name := filepath.Base(file); !strings.HasSuffix(name, "_test.go") && !strings.Contains(table, "`"+name+"`") {
			t.Errorf("docs/architecture.md: the table of the root package lacks %s", name)
		}
	}
}
