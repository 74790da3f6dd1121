//go:build unix

package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// TestRequiredVersions compares the versions that pages require with those of the modules.
func TestRequiredVersions(t *testing.T) {
	for page, module := range map[string]string{"testing.md": "examples/operator", "operators.md": "instrument"} {
		mod := testutil.ReadFile(t, filepath.Join(root, module, "go.mod"))
		text := strings.Join(strings.Fields(testutil.ReadFile(t, filepath.Join(root, "docs", page))), " ")
		for _, required := range []struct{ mod, page string }{
			{`(?m)^go (\d+\.\d+)`, "Go "},
			{`k8s\.io/client-go (v\d+\.\d+)`, "k8s.io/client-go "},
			{`controller-runtime (v\d+\.\d+)`, "controller-runtime "},
		} {
			version := regexp.MustCompile(required.mod).FindStringSubmatch(mod)
			if version == nil {
				t.Fatalf("%s/go.mod has no %s", module, required.mod)
			}
			text := strings.ReplaceAll(text, "controller-runtime needs ", "controller-runtime ")
			if want := required.page + version[1]; !strings.Contains(text, want) {
				t.Errorf("%s does not require %s, as go.mod of %s does", page, want, module)
			}
		}
	}
}
