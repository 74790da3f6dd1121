package upstreamversion

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ctrlplane/ctrlplane/internal/testutil"

	clientversion "k8s.io/client-go/pkg/version"
	baseversion "k8s.io/component-base/version"
)

func TestVersions(t *testing.T) {
	if err := Check(); err != nil {
		t.Fatal(err)
	}
	own := Minors()[emulatedMinors]
	for name, info := range map[string]struct{ version, major, minor, commit, date string }{
		"server": {baseversion.Get().GitVersion, baseversion.Get().Major, baseversion.Get().Minor, baseversion.Get().GitCommit, baseversion.Get().BuildDate},
		"client": {clientversion.Get().GitVersion, clientversion.Get().Major, clientversion.Get().Minor, clientversion.Get().GitCommit, clientversion.Get().BuildDate},
	} {
		if info.version != Kubernetes || info.major+"."+info.minor != own || strings.Contains(info.commit, placeholder) || strings.HasPrefix(info.date, "1970") {
			t.Errorf("%s: %+v", name, info)
		}
	}
	if err := set("v1.36.0"); err != nil || baseversion.Get().GitVersion != Kubernetes {
		t.Errorf("a second call: got %v and %s", err, baseversion.Get().GitVersion)
	}
}

// The constant is the version of the module.
func TestVersionIsThatOfTheModule(t *testing.T) {
	for _, module := range []string{".", "test/conformance"} {
		mod := testutil.ReadFile(t, filepath.Join("../..", module, "go.mod"))
		if found := regexp.MustCompile(`(?m)^\tk8s\.io/kubernetes (\S+)`).FindStringSubmatch(mod); found == nil || found[1] != Kubernetes {
			t.Errorf("go.mod of %s has k8s.io/kubernetes %q, the constant is %s: docs/upstream-hooks.md has the steps to another version", module, found, Kubernetes)
		}
	}
}
