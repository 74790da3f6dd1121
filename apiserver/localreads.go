package apiserver

import (
	"context"
	"path"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// localReads reads from a member in this process, which has no others to agree with. It
// answers a write, and reports it to watches, when it applies it: once all that is
// committed is applied, a read sees what any client has seen. Agreement would cost each
// read a pass through the goroutines of raft, and the wait for a sync to the disk.
type localReads struct {
	clientv3.KV
	caughtUp func() bool // whether the member has applied all that is committed
	probe    string      // the key by which upstream checks that the store works; read with agreement
}

func newLocalReads(kv clientv3.KV, caughtUp func() bool, prefix string) clientv3.KV {
	if caughtUp == nil {
		return kv
	}
	return localReads{kv, caughtUp, path.Join("/", prefix, "health")}
}

// Get implements clientv3.KV.
func (r localReads) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	return r.KV.Get(ctx, key, r.options(key, opts)...)
}

// GetStream implements clientv3.KV.
func (r localReads) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	return r.KV.GetStream(ctx, key, r.options(key, opts)...)
}

func (r localReads) options(key string, opts []clientv3.OpOption) []clientv3.OpOption {
	if key == r.probe || !r.caughtUp() {
		return opts
	}
	return append(opts[:len(opts):len(opts)], clientv3.WithSerializable())
}
