package ctrlplane

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ctrlplane/ctrlplane/etcd"
	"github.com/ctrlplane/ctrlplane/internal/snapshot"
	"github.com/ctrlplane/ctrlplane/internal/testutil"
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

// After a start with a cluster, what the folder holds of an embedded etcd is old: what would
// read it refuses or warns.
func TestFolderKnowsThatAClusterWasUsed(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "etcd", "member"), 0o700); err != nil {
		t.Fatal(err)
	}
	testutil.WriteFile(t, filepath.Join(dir, "ctrlplane.json"), `{"format":1}`)
	const cluster = "http://127.0.0.1:1"
	for _, start := range []struct {
		endpoints []string
		fails     bool
		warns     bool
	}{{}, {endpoints: []string{cluster}}, {endpoints: []string{cluster}}, {fails: true, warns: true}, {warns: true}, {}} {
		p, warnings := openedDataDir(t, dir, start.endpoints...)
		if err := errors.Join(p.recordEtcd(), p.recordCluster()); err != nil {
			t.Fatal(err)
		}
		if !start.fails {
			p.url, p.kubeconfig = "https://127.0.0.1:1", clientcmdapi.NewConfig()
			if err := p.publishKubeconfig(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if warned := len(*warnings) == 1 && strings.Contains((*warnings)[0], "which may lack what was written since"); warned != start.warns || len(*warnings) > 1 {
			t.Errorf("start with %v: warnings %q", start.endpoints, *warnings)
		}
		if err := p.closeDataDir(); err != nil {
			t.Fatal(err)
		}
		if start.endpoints == nil && !start.fails {
			continue
		}
		if _, err := (OfflineDataDir{Dir: dir}).Save(t.Context()); err == nil || !strings.Contains(err.Error(), "it uses an etcd cluster and must be running") {
			t.Errorf("save after a start with a cluster: %v", err)
		}
	}
}

// startStore starts the embedded etcd of a control plane.
func startStore(t *testing.T, p *controlPlane) *etcd.Server {
	t.Helper()
	store, err := etcd.Start(t.Context(), etcd.Config{Dir: p.dir.Join("etcd"), NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// A start that cannot write its snapshot into a cluster leaves the folder the state of its embedded etcd.
func TestFolderKnowsThatAClusterWasNotUsed(t *testing.T) {
	file, err := snapshot.Encode(snapshot.Header{Kubernetes: KubernetesVersion}, snapshot.State{})
	if err != nil {
		t.Fatal(err)
	}
	for _, holds := range []bool{true, false} {
		p, _ := openedDataDir(t, filepath.Join(t.TempDir(), "data"), "http://127.0.0.1:1")
		t.Cleanup(func() {
			if err := p.closeDataDir(); err != nil {
				t.Error(err)
			}
		})
		p.config.FromSnapshotData = file
		close(p.listening)
		store := startStore(t, p) // in place of a cluster
		if holds {
			if err := store.PutAll(t.Context(), maps.All(map[string][]byte{"/registry/a": nil})); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.initializeStore(t.Context(), store); (err != nil) != holds || err != nil && !strings.Contains(err.Error(), "holds a control plane already") {
			t.Errorf("the cluster holds a control plane: %v, start: %v", holds, err)
		}
		if state, err := p.dir.State(); err != nil || state.EtcdCluster == holds {
			t.Errorf("the cluster holds a control plane: %v, recorded that it is used: %v, %v", holds, state.EtcdCluster, err)
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
