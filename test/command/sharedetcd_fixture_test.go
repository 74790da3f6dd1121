package command_test

import (
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/ctrlplane/ctrlplane/internal/testutil/program"
)

// startEtcd starts an etcd that several control planes can share, and returns its URL.
func startEtcd(t *testing.T) string {
	t.Helper()
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = t.TempDir(), "fatal", true
	loopback := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg.ListenClientUrls, cfg.ListenPeerUrls = loopback, loopback
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(program.Timeout):
		t.Fatal("etcd is not ready")
	}
	return "http://" + e.Clients[0].Addr().String()
}

// besides returns the fixture of another control plane with the same keys.
func (k snapshotFixture) besides() snapshotFixture {
	k.t.Helper()
	other := snapshotFixture{k.t, k.state, filepath.Join(k.t.TempDir(), "second")}
	if err := os.CopyFS(filepath.Join(other.dir, "pki"), os.DirFS(filepath.Join(k.dir, "pki"))); err != nil {
		k.t.Fatal(err)
	}
	return other
}
