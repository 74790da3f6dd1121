package apiserver

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// agreementKV notes whether a read asks for agreement.
type agreementKV struct {
	clientv3.KV
	asked bool
}

func (k *agreementKV) Get(_ context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	op := clientv3.OpGet(key, opts...)
	k.asked = !op.IsSerializable()
	return &clientv3.GetResponse{}, nil
}

func (k *agreementKV) GetStream(ctx context.Context, key string, opts ...clientv3.OpOption) (clientv3.GetStreamChan, error) {
	_, err := k.Get(ctx, key, opts...)
	return nil, err
}

// A read needs no agreement while the member has applied all that is committed, except
// that of the health check, which is to notice a raft that stands still.
func TestLocalReads(t *testing.T) {
	const pod, health = "/registry/pods/default/web", "/registry/health"
	for _, tt := range []struct {
		name     string
		caughtUp func() bool
		key      string
		want     bool
	}{
		{"caught up", func() bool { return true }, pod, false},
		{"behind", func() bool { return false }, pod, true},
		{"health check", func() bool { return true }, health, true},
		{"a cluster", nil, pod, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := &agreementKV{}
			kv := newLocalReads(store, tt.caughtUp, "/registry")
			if _, err := kv.Get(t.Context(), tt.key, clientv3.WithLimit(1)); err != nil || store.asked != tt.want {
				t.Errorf("get: agreement %v, %v, want %v", store.asked, err, tt.want)
			}
			if _, err := kv.GetStream(t.Context(), tt.key); err != nil || store.asked != tt.want {
				t.Errorf("stream: agreement %v, %v, want %v", store.asked, err, tt.want)
			}
		})
	}
}
