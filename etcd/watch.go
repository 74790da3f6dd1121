package etcd

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// watchClient opens streams of watches that take requests without waiting for
// the server. A stream of gRPC does; etcd's own in memory does not, and so the
// two ends of it wait for each other for ever once some twenty watches are
// cancelled while events pour in (https://github.com/etcd-io/etcd/issues/20716).
type watchClient struct{ pb.WatchClient }

func (c watchClient) Watch(ctx context.Context, opts ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	stream, err := c.WatchClient.Watch(ctx, opts...)
	if err != nil {
		return nil, err
	}
	return &watchStream{Watch_WatchClient: stream}, nil
}

// watchStream keeps the requests that the server has not taken, in order. There
// are at most a few for each watch.
type watchStream struct {
	pb.Watch_WatchClient

	mu      sync.Mutex
	waiting []*pb.WatchRequest
}

// Send fails when the stream is over, as Recv then does.
func (s *watchStream) Send(r *pb.WatchRequest) error {
	if err := s.Context().Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting = append(s.waiting, r); len(s.waiting) == 1 {
		go s.forward(r)
	}
	return nil
}

// forward hands over requests until none waits. When the stream is over, what
// waits has nobody to go to.
func (s *watchStream) forward(r *pb.WatchRequest) {
	for r != nil && s.Watch_WatchClient.Send(r) == nil {
		r = s.next()
	}
}

// next drops the request that was handed over and returns the one behind it.
func (s *watchStream) next() *pb.WatchRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting = s.waiting[1:]; len(s.waiting) == 0 {
		s.waiting = nil
		return nil
	}
	return s.waiting[0]
}
