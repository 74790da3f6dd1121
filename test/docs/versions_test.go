//go:build unix

package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"
	"github.com/ctrlplane/ctrlplane/internal/upstreamversion"
)

// TestKubernetesVersions compares the versions that pages name with those that the program has.
func TestKubernetesVersions(t *testing.T) {
	minors, release := upstreamversion.Minors(), strings.TrimPrefix(upstreamversion.Kubernetes, "v")
	oldest, own := minors[0], minors[len(minors)-1]
	all := "--kubernetes " + strings.Join(minors, ",")
	for page, wants := range map[string][]string{
		"README.md":                   {"built on Kubernetes " + release, all},
		"cmd/ctrlplane/run.go":        {"--kubernetes " + strings.Join(minors[1:], ",")},
		"docs/README.md":              {"emulate " + oldest + " to " + own},
		"docs/ci.md":                  {all},
		"docs/kubernetes-versions.md": {"contains Kubernetes " + release, "the code is that of " + release, all, "`--kubernetes " + own + "`", "with " + own + "."},
		"examples/ci/github.yml":      {`["` + oldest + `", "` + own + `"]`},
		"test/conformance/README.md":  {"of Kubernetes " + own + "."},
		".ci/race.supp":               {"kubernetes/blob/" + upstreamversion.Kubernetes + "/"},
	} {
		text := testutil.ReadFile(t, filepath.Join(root, page))
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s lacks %q", page, want)
			}
		}
		for _, found := range regexp.MustCompile(`\b1\.[3-9]\d\.\d+\b`).FindAllString(text, -1) {
			if found != release {
				t.Errorf("%s names Kubernetes %s, the program has %s", page, found, release)
			}
		}
	}
}

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
