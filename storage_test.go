package ctrlplane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// openedDataDir returns a control plane that has opened its data folder, until the end of the test or
// closeDataDir, and its warnings.
func openedDataDir(t *testing.T, dir string, endpoints ...string) (p *controlPlane, warnings *[]string) {
	t.Helper()
	warnings = new([]string)
	p = newControlPlane(&Server{
		Dir:       dir,
		Etcd:      EtcdConfig{Endpoints: endpoints},
		OnWarning: func(msg string) { *warnings = append(*warnings, msg) },
	})
	if err := p.openDataDir(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, warnings
}

// After a start with a cluster, what the folder holds of an embedded etcd is old: nothing reads it
// silently.
func TestFolderKnowsThatAClusterWasUsed(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "etcd", "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "ctrlplane.json"), []byte(`{"format":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const cluster = "http://127.0.0.1:1"
	for _, start := range []struct {
		endpoints []string
		warns     bool
	}{{nil, false}, {[]string{cluster}, false}, {[]string{cluster}, false}, {nil, true}, {nil, false}} {
		p, warnings := openedDataDir(t, dir, start.endpoints...)
		if err := p.recordEtcd(); err != nil {
			t.Fatal(err)
		}
		if warned := len(*warnings) == 1 && strings.Contains((*warnings)[0], "which may lack what was written since"); warned != start.warns || len(*warnings) > 1 {
			t.Errorf("start with %v: warnings %q", start.endpoints, *warnings)
		}
		if err := p.closeDataDir(); err != nil {
			t.Fatal(err)
		}
		if start.endpoints == nil {
			continue
		}
		if _, err := (OfflineDataDir{Dir: dir}).Save(t.Context()); err == nil || !strings.Contains(err.Error(), "it uses an etcd cluster and must be running") {
			t.Errorf("save after a start with a cluster: %v", err)
		}
	}
}

// Snapshots contain what is in the one etcd. Events may be missing.
func TestSnapshotsWithSeveralEtcds(t *testing.T) {
	for arg, want := range map[string]string{
		"etcd-prefix=/registry/a#b":                                                      "",
		"etcd-servers-overrides=/events#http://127.0.0.1:1":                              "",
		"etcd-servers-overrides=/events#http://127.0.0.1:1,apps/deployments#http://h:1":  "(deployments.apps)",
		"--etcd-servers-overrides=/secrets#http://h:1;http://i:1,/configmaps#http://h:1": "(secrets, configmaps)",
	} {
		p := newControlPlane(&Server{APIServer: APIServerConfig{Args: []string{"profiling=false", arg}}})
		if err := p.checkSnapshots(); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", arg, err, want)
		}
	}
}
