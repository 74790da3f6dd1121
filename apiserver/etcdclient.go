package apiserver

import (
	_ "unsafe" // for go:linkname

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	"k8s.io/apiserver/pkg/storage/storagebackend"
)

// newETCD3Client is how upstream makes the client of each of some seventy
// resources: it dials, and waits for the connection. Its own tests replace it
// in the same way. That it is there is for the linker to see, and that it is
// used for a test.
//
//go:linkname newETCD3Client k8s.io/apiserver/pkg/storage/storagebackend/factory.newETCD3Client
var newETCD3Client func(storagebackend.TransportConfig) (*kubernetes.Client, error)

// replaceEtcdClient makes upstream use clients from connect until restore is called.
func replaceEtcdClient(connect func() (*clientv3.Client, error)) (restore func()) {
	upstream := newETCD3Client
	newETCD3Client = func(storagebackend.TransportConfig) (*kubernetes.Client, error) {
		client, err := connect()
		if err != nil {
			return nil, err
		}
		client.Watcher = bookmarkWatcher{client.Watcher}
		c := &kubernetes.Client{Client: client}
		c.Kubernetes = c
		return c, nil
	}
	return func() { newETCD3Client = upstream }
}
