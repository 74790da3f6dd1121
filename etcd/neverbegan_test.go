package etcd

import (
	"os"
	"path/filepath"
	"testing"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/raft/v3/raftpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

// TestStartsWhereFirstStartWasKilled starts on what a first start leaves that is killed
// between the creation of the log and the commit of the member's own configuration.
func TestStartsWhereFirstStartWasKilled(t *testing.T) {
	for name, write := range map[string]func(*testing.T, *wal.WAL){
		"log without entries": func(*testing.T, *wal.WAL) {},
		"first entry not committed": func(t *testing.T, w *wal.WAL) {
			entry := &raftpb.Entry{Term: proto.Uint64(1), Index: proto.Uint64(1), Type: raftpb.EntryConfChange.Enum()}
			must(t, w.Save(&raftpb.HardState{}, []*raftpb.Entry{entry}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			must(t, os.MkdirAll(filepath.Join(dir, "member", "snap"), 0o700))
			metadata, err := proto.Marshal(&etcdserverpb.Metadata{NodeID: proto.Uint64(1), ClusterID: proto.Uint64(2)})
			must(t, err)
			w, err := wal.Create(zap.NewNop(), logDir(dir), metadata)
			must(t, err)
			write(t, w)
			must(t, w.Close())

			s := startServer(t, Config{Dir: dir})
			if !s.IsEmpty() {
				t.Error("the store is not empty")
			}
			putKey(t, dialEmbedded(t, s), "a", "1")
			closeServer(t, s)
			again := startServer(t, Config{Dir: dir})
			if value, _ := getKey(t, dialEmbedded(t, again), "a"); value != "1" {
				t.Errorf("a is %q after a restart, want 1", value)
			}
		})
	}
}
