package etcd

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"go.etcd.io/etcd/server/v3/proxy/grpcproxy/adapter"
	"google.golang.org/grpc"
)

// memberWatches are the watch streams in memory. They end before the store closes: one that sends an event
// with the value before it reads that from the store, in a goroutine in which no panic is recovered.
type memberWatches struct {
	pb.WatchServer
	stopping context.Context
	cancel   context.CancelFunc

	mu      sync.Mutex // so that no stream begins after stopping
	streams sync.WaitGroup
}

func newMemberWatches(s *etcdserver.EtcdServer) *memberWatches {
	w := &memberWatches{WatchServer: v3rpc.NewWatchServer(s)}
	w.stopping, w.cancel = context.WithCancel(context.Background())
	return w
}

// client returns a client whose streams end when the member stops.
func (w *memberWatches) client() pb.WatchClient {
	return endingWatchClient{adapter.WatchServerToWatchClient(w), w.stopping}
}

// Watch serves a stream, and returns when nothing more is sent on it.
func (w *memberWatches) Watch(stream pb.Watch_WatchServer) error {
	if !w.begin() {
		return rpctypes.ErrGRPCWatchCanceled
	}
	defer w.streams.Done()
	return w.WatchServer.Watch(stream)
}

func (w *memberWatches) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stopping.Err() != nil {
		return false
	}
	w.streams.Add(1)
	return true
}

// stop ends all streams, and refuses new ones.
func (w *memberWatches) stop() {
	w.mu.Lock()
	w.cancel()
	w.mu.Unlock()
	w.streams.Wait()
}

// endingWatchClient opens streams that end with a context, for both sides.
type endingWatchClient struct {
	pb.WatchClient
	stopping context.Context
}

func (c endingWatchClient) Watch(ctx context.Context, opts ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(c.stopping, cancel)
	stream, err := c.WatchClient.Watch(ctx, opts...)
	if err != nil {
		forget()
		cancel()
		return nil, err
	}
	context.AfterFunc(stream.Context(), func() { forget(); cancel() })
	return stream, nil
}
