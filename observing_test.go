package ctrlplane

import (
	"net/url"
	"testing"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/ctrlplane/ctrlplane/etcd"
)

// What a watch is sent first did exist if the last version is known, also with an etcd cluster.
func TestStoreRevisionOfACluster(t *testing.T) {
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = t.TempDir(), "fatal", true
	loopback := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	cfg.ListenClientUrls, cfg.ListenPeerUrls = loopback, loopback
	cluster, err := embed.StartEtcd(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	<-cluster.Server.ReadyNotify()
	endpoints := []string{"http://" + cluster.Clients[0].Addr().String()}
	p := newControlPlane(&Server{Etcd: EtcdConfig{Endpoints: endpoints}})
	if p.etcd.server, err = etcd.Start(t.Context(), etcd.Config{Endpoints: endpoints}); err != nil {
		t.Fatal(err)
	}
	defer p.etcd.server.Close()
	before := p.storeRevision()
	if err := p.etcd.server.PutRecord(t.Context(), "k", "v"); err != nil {
		t.Fatal(err)
	}
	if after := p.storeRevision(); before == 0 || after != before+1 {
		t.Errorf("revision %d, after a write %d", before, after)
	}
}
