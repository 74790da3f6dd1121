package apiserver

import (
	"context"
	"strconv"

	"go.etcd.io/etcd/client/v3/kubernetes"

	"github.com/ctrlplane/ctrlplane/internal/storekeys"
	"github.com/ctrlplane/ctrlplane/observe"
)

// noteWrites makes a client report each write to observe, which records it with the
// call that the goroutine serves. It is the only exact answer to the question which
// call has made a version: the answers to bindings, graceful deletes, deletes of
// collections and removals of finalizers do not contain it.
func noteWrites(client *kubernetes.Client, prefix string) {
	client.Kubernetes = notedWrites{client.Kubernetes, prefix}
}

type notedWrites struct {
	kubernetes.Interface
	prefix string
}

func (n notedWrites) OptimisticPut(ctx context.Context, key string, value []byte, expected int64, o kubernetes.PutOptions) (kubernetes.PutResponse, error) {
	write := observe.BeginWrite()
	defer write.End()
	resp, err := n.Interface.OptimisticPut(ctx, key, value, expected, o)
	if err == nil && resp.Succeeded {
		n.note(write, key, resp.Revision, false)
	}
	return resp, err
}

func (n notedWrites) OptimisticDelete(ctx context.Context, key string, expected int64, o kubernetes.DeleteOptions) (kubernetes.DeleteResponse, error) {
	write := observe.BeginWrite()
	defer write.End()
	resp, err := n.Interface.OptimisticDelete(ctx, key, expected, o)
	if err == nil && resp.Succeeded {
		n.note(write, key, resp.Revision, true)
	}
	return resp, err
}

func (n notedWrites) note(write observe.StorageWrite, key string, revision int64, deleted bool) {
	if !write.IsRecorded() {
		return
	}
	stored, _ := storekeys.ParseBelow(n.prefix, key)
	resource := stored.Resource()
	if resource == "" {
		return
	}
	write.Stored(observe.Written{
		Resource: resource, Namespace: stored.Namespace(), Name: stored.Name(),
		ResourceVersion: strconv.FormatInt(revision, 10), Deleted: deleted,
	})
}
