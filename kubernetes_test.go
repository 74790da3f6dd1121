package ctrlplane

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/ctrlplane/ctrlplane/apiserver/pki"
	"github.com/ctrlplane/ctrlplane/internal/datadir"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
)

// newUsedDir returns a data folder with an embedded etcd that a Kubernetes release has used last.
func newUsedDir(t *testing.T, kubernetes string) string {
	t.Helper()
	dir := t.TempDir()
	testutil.WriteFiles(t, dir, map[string]string{"etcd/member/": "", "ctrlplane.json": `{"format":1}`, "state.json": fmt.Sprintf(`{"server":"https://127.0.0.1:1","kubernetesVersion":%q,"later":true}`, kubernetes)})
	return dir
}

func readStateFile(t *testing.T, dir string) string {
	t.Helper()
	return testutil.ReadFile(t, filepath.Join(dir, "state.json"))
}

// A folder of a newer minor version of Kubernetes is neither opened nor written to, and one that is more than
// one version older is opened with a warning.
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
		before := readStateFile(t, dir)
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
		if diff := cmp.Diff(before, readStateFile(t, dir)); diff != "" {
			t.Errorf("%+v: state (-want +got):\n%s", test, diff)
		}
	}
}

// A start that fails after the API server may have written has used the folder, as a restore has.
func TestReleaseIsRecordedBeforeItWrites(t *testing.T) {
	const older = "v1.30.0"
	dir := t.TempDir()
	p, _ := openedDataDir(t, dir)
	emulated, emulatedBefore := KubernetesVersions()[1], KubernetesVersions()[0]
	p.kubernetes.Store(&emulated)
	saved := datadir.State{KubernetesVersion: older, EmulatedVersion: emulatedBefore}
	if err := p.dir.SaveState(saved); err != nil {
		t.Fatal(err)
	}
	requireVersions := func(want, emulated, when string) {
		t.Helper()
		if state, _, err := datadir.Peek(dir); err != nil || state.KubernetesVersion != want || state.EmulatedVersion != emulated {
			t.Errorf("%s: recorded %q, %q, want %q, %q (%v)", when, state.KubernetesVersion, state.EmulatedVersion, want, emulated, err)
		}
	}
	if _, err := pki.Ensure(pki.Config{Dir: p.dir.Join("pki"), NoSync: true}); err != nil {
		t.Fatal(err)
	}
	if err := p.startEtcd(t.Context()); err != nil {
		t.Fatal(err)
	}
	requireVersions(older, emulatedBefore, "etcd started")
	connection, err := p.apiServerEtcd(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	client, err := connection.Connect()
	if err != nil {
		t.Fatal(err)
	}
	requireVersions(KubernetesVersion, emulated, "API server connected")
	if err := errors.Join(client.Close(), p.closeEtcd(), p.dir.SaveState(saved), p.dir.Close()); err != nil {
		t.Fatal(err)
	}

	stopped := OfflineDataDir{Dir: dir}
	file, err := stopped.Save(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	requireVersions(older, emulatedBefore, "saved")
	if _, err := stopped.Restore(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	requireVersions(KubernetesVersion, emulatedBefore, "restored")
}
