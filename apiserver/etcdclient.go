package apiserver

import (
	"errors"
	"fmt"
	"path"
	"sync"
	"sync/atomic"
	_ "unsafe" // for go:linkname

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"go.uber.org/zap"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// newETCD3Client is the function by which upstream creates the etcd client of each of
// about seventy resources. It dials and waits for the connection; upstream's own tests
// replace it in the same way. The linker reports neither a variable that has gone, which
// is nil here, nor one that has stopped using it: see replaceEtcdClient and check.
//
//go:linkname newETCD3Client k8s.io/apiserver/pkg/storage/storagebackend/factory.newETCD3Client
var newETCD3Client func(storagebackend.TransportConfig) (*kubernetes.Client, error)

// etcdClientReplacement makes upstream use other etcd clients until it is undone.
type etcdClientReplacement struct {
	upstream func(storagebackend.TransportConfig) (*kubernetes.Client, error)
	used     atomic.Bool

	mu         sync.Mutex
	clients    []*clientv3.Client // those of an assembly that is under way
	ended      bool               // the assembly
	failed     bool               // the assembly
	checked    bool               // check has been called, which reports connectErr
	connectErr error              // why the assembly got a client that has ended
}

// replaceEtcdClient makes upstream use clients that store.Connect returns, for keys below
// prefix. This applies to the whole process.
func replaceEtcdClient(prefix string, store Etcd) (*etcdClientReplacement, error) {
	if newETCD3Client == nil {
		return nil, errors.New("apiserver: this version of k8s.io/apiserver has no variable factory.newETCD3Client: see docs/upstream-hooks.md")
	}
	prefix = path.Join("/", prefix) // as upstream makes its keys
	r := &etcdClientReplacement{upstream: newETCD3Client}
	newETCD3Client = func(storagebackend.TransportConfig) (*kubernetes.Client, error) {
		r.used.Store(true)
		client, err := store.Connect()
		if err != nil {
			return r.newEndedClient(store.Endpoints, err)
		}
		r.remember(client)
		client.KV = newLocalReads(client.KV, store.CaughtUp, prefix)
		client.Watcher = bookmarkWatcher{client.Watcher}
		c := &kubernetes.Client{Client: client}
		c.Kubernetes = c
		noteWrites(c, prefix)
		return c, nil
	}
	return r, nil
}

// newEndedClient returns a client that fails each call, because connecting has failed, which
// check reports. Upstream's health checks create their clients in the background, and try
// again until a server that has run ends; an assembly that fails has none.
func (r *etcdClientReplacement) newEndedClient(endpoints []string, why error) (*kubernetes.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.checked && !r.failed {
		return nil, why // and upstream tries again
	}
	r.connectErr = why
	c, err := kubernetes.New(clientv3.Config{Endpoints: endpoints, Logger: zap.NewNop()})
	if err != nil {
		return nil, err
	}
	return c, c.Close()
}

func (r *etcdClientReplacement) remember(client *clientv3.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.failed: // a health check that was still waiting for the store
		_ = client.Close()
	case !r.ended:
		r.clients = append(r.clients, client)
	}
}

// endAssembly closes the clients of an assembly that has failed: those of upstream's health
// checks only end with a server that has run.
func (r *etcdClientReplacement) endAssembly(failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, client := range r.clients {
		if failed {
			_ = client.Close() // its storage may have closed it
		}
	}
	r.clients, r.ended, r.failed = nil, true, failed
}

// check fails if upstream has created its storages without the replacement, or without a
// connection.
func (r *etcdClientReplacement) check() error {
	if !r.used.Load() {
		return errors.New("apiserver: this version of k8s.io/apiserver creates its etcd clients without factory.newETCD3Client: see docs/upstream-hooks.md")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.checked = true
	if r.connectErr != nil {
		return fmt.Errorf("apiserver: %w", r.connectErr)
	}
	return nil
}

func (r *etcdClientReplacement) undoReplacement() { newETCD3Client = r.upstream }
