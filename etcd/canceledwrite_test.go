package etcd

import (
	"context"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// The API server calls the store for a request that was canceled long ago, if what it did
// before that takes no notice. A connection refuses such a write; a function call has to.
func TestCanceledWritesAreNotStored(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir()})
	c, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	revision := putKey(t, c, "k", "v")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 {
		if _, err := c.Put(canceled, "k", "put"); err == nil {
			t.Error("a canceled put succeeds")
		}
		if _, err := c.Delete(canceled, "k"); err == nil {
			t.Error("a canceled delete succeeds")
		}
		if _, err := c.Txn(canceled).Then(clientv3.OpPut("k", "txn")).Commit(); err == nil {
			t.Error("a canceled transaction succeeds")
		}
	}
	putKey(t, c, "other", "v") // is behind whatever was proposed
	if value, found := getKey(t, c, "k"); found != revision {
		t.Errorf("the key has revision %d and value %q, want revision %d", found, value, revision)
	}
}
