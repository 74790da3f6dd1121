package etcd

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// queueingWatchClient opens streams of watches that take requests without waiting for
// the server. A stream of gRPC does; etcd's own in memory does not, and so the
// two ends of it wait for each other for ever once some twenty watches are
// cancelled while events pour in (https://github.com/etcd-io/etcd/issues/20716).
type queueingWatchClient struct{ pb.WatchClient }

func (c queueingWatchClient) Watch(ctx context.Context, opts ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	stream, err := c.WatchClient.Watch(ctx, opts...)
	if err != nil {
		return nil, err
	}
	return &queueingWatchStream{Watch_WatchClient: stream}, nil
}

// queueingWatchStream keeps the requests that the server has not taken, in order. There
// are at most a few for each watch.
type queueingWatchStream struct {
	pb.Watch_WatchClient

	mu    sync.Mutex
	queue []*pb.WatchRequest
}

// Send fails when the stream is over, as Recv then does.
func (s *queueingWatchStream) Send(r *pb.WatchRequest) error {
	if err := s.Context().Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue = append(s.queue, r); len(s.queue) == 1 {
		go s.sendQueued(r)
	}
	return nil
}

// sendQueued hands over requests until none waits. When the stream is over, what
// waits has nobody to go to.
func (s *queueingWatchStream) sendQueued(r *pb.WatchRequest) {
	for r != nil && s.Watch_WatchClient.Send(r) == nil {
		r = s.dequeue()
	}
}

// dequeue drops the request that was handed over and returns the one behind it.
func (s *queueingWatchStream) dequeue() *pb.WatchRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
		return nil
	}
	return s.queue[0]
}
