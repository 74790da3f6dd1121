package etcd

import (
	"context"
	"sync"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// queueingWatchClient opens watch streams that accept requests without waiting for the
// server, as streams of gRPC do. Etcd's in-memory streams wait: both ends deadlock when
// about twenty watches are canceled while many events arrive
// (https://github.com/etcd-io/etcd/issues/20716).
type queueingWatchClient struct{ pb.WatchClient }

func (c queueingWatchClient) Watch(ctx context.Context, opts ...grpc.CallOption) (pb.Watch_WatchClient, error) {
	stream, err := c.WatchClient.Watch(ctx, opts...)
	if err != nil {
		return nil, err
	}
	return &queueingWatchStream{Watch_WatchClient: stream}, nil
}

// queueingWatchStream queues the requests that the server has not accepted, in order.
// There are at most a few per watch.
type queueingWatchStream struct {
	pb.Watch_WatchClient

	mu    sync.Mutex
	queue []*pb.WatchRequest
}

// Send fails when the stream has ended, like Recv.
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

// sendQueued sends requests until the queue is empty or the stream ends.
func (s *queueingWatchStream) sendQueued(r *pb.WatchRequest) {
	for r != nil && s.Watch_WatchClient.Send(r) == nil {
		r = s.dequeue()
	}
}

// dequeue removes the request that was sent and returns the next one.
func (s *queueingWatchStream) dequeue() *pb.WatchRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue = s.queue[1:]; len(s.queue) == 0 {
		s.queue = nil
		return nil
	}
	return s.queue[0]
}
