package apiserver

import (
	"errors"
	"sync/atomic"
	_ "unsafe" // for go:linkname

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// newETCD3Client is the function by which upstream creates the etcd client of each of
// about seventy resources. It dials and waits for the connection; upstream's own tests
// replace it in the same way. The linker reports neither a variable that has gone, which
// is nil here, nor one that is no longer used: see replaceEtcdClient and checkUsed.
//
//go:linkname newETCD3Client k8s.io/apiserver/pkg/storage/storagebackend/factory.newETCD3Client
var newETCD3Client func(storagebackend.TransportConfig) (*kubernetes.Client, error)

// etcdClientReplacement makes upstream use other etcd clients until it is undone.
type etcdClientReplacement struct {
	upstream func(storagebackend.TransportConfig) (*kubernetes.Client, error)
	used     atomic.Bool
}

// replaceEtcdClient makes upstream use clients that connect returns, for keys below
// prefix. This applies to the whole process.
func replaceEtcdClient(prefix string, connect func() (*clientv3.Client, error)) (*etcdClientReplacement, error) {
	if newETCD3Client == nil {
		return nil, errors.New("apiserver: this version of k8s.io/apiserver has no variable factory.newETCD3Client: see docs/upstream-hooks.md")
	}
	r := &etcdClientReplacement{upstream: newETCD3Client}
	newETCD3Client = func(storagebackend.TransportConfig) (*kubernetes.Client, error) {
		r.used.Store(true)
		client, err := connect()
		if err != nil {
			return nil, err
		}
		client.Watcher = bookmarkWatcher{client.Watcher}
		c := &kubernetes.Client{Client: client}
		c.Kubernetes = c
		noteWrites(c, prefix)
		return c, nil
	}
	return r, nil
}

// checkUsed fails if upstream has created its storages without the replacement.
func (r *etcdClientReplacement) checkUsed() error {
	if !r.used.Load() {
		return errors.New("apiserver: this version of k8s.io/apiserver creates its etcd clients without factory.newETCD3Client: see docs/upstream-hooks.md")
	}
	return nil
}

func (r *etcdClientReplacement) undoReplacement() { newETCD3Client = r.upstream }
