package ctrlplane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

// newUsedDir returns a data folder with an embedded etcd that a Kubernetes release has used last.
func newUsedDir(t *testing.T, kubernetes string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "etcd", "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"ctrlplane.json": `{"format":1}`, "state.json": fmt.Sprintf(`{"kubernetesVersion":%q}`, kubernetes)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A folder of a newer minor version of Kubernetes is not opened, and one that is more than one version
// older only with a warning.
func TestDataFolderOfAnotherKubernetes(t *testing.T) {
	own := version.MustParse(KubernetesVersion)
	newer, older, oldest := own.OffsetMinor(1).String(), own.OffsetMinor(-1).String(), own.OffsetMinor(-2).String()
	for _, test := range []struct {
		last, emulated  string
		refused, warned bool
	}{
		{last: ""}, {last: KubernetesVersion}, {last: own.WithPatch(99).String()},
		{last: "v" + newer + ".0-beta.0", refused: true},
		{last: "v" + older + ".7"},
		{last: "v" + oldest + ".7", warned: true},
		{last: "v" + oldest + ".7", emulated: older},
	} {
		dir := newUsedDir(t, test.last)
		var warnings []string
		p := newControlPlane(&Server{Dir: dir, Kubernetes: test.emulated, OnWarning: func(msg string) { warnings = append(warnings, msg) }})
		err := p.openDataDir(t.Context())
		if refused := err != nil && strings.Contains(err.Error(), "was last used by a ctrlplane with Kubernetes "+test.last); refused != test.refused || err != nil && !refused {
			t.Errorf("%+v: start: %v", test, err)
		}
		if warned := len(warnings) == 1 && strings.Contains(warnings[0], "one minor version at a time"); warned != test.warned || len(warnings) > 1 {
			t.Errorf("%+v: warnings %q", test, warnings)
		}
		if err := p.closeDataDir(); err != nil {
			t.Error(err)
		}
		if !test.refused {
			continue
		}
		if _, err := (OfflineDataDir{Dir: dir}).Save(t.Context()); err == nil || !strings.Contains(err.Error(), "upgrade ctrlplane") {
			t.Errorf("%+v: save: %v", test, err)
		}
	}
}
