package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Etcd's own in-memory client deadlocks in the first round.
func TestWatchesAreCanceledUnderLoad(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	c, err := s.Client()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	for round := range 10 {
		cancelWatches(t, c, fmt.Sprint(round))
	}
}

// cancelWatches cancels a hundred watches that have received events. It fails if the
// next watch misses a write.
func cancelWatches(t *testing.T, c *clientv3.Client, round string) {
	t.Helper()
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(testContext(t)))
	var writers sync.WaitGroup
	defer writers.Wait()
	defer cancel()
	for writer := range 4 {
		writers.Go(func() { writeUntilDone(ctx, t, c, fmt.Sprintf("/many/%d", writer)) })
	}
	many, cancelMany := context.WithCancel(ctx)
	defer cancelMany()
	seen := make(chan struct{})
	for range 100 {
		watch := c.Watch(many, "/many/", clientv3.WithPrefix())
		go func() {
			<-watch
			seen <- struct{}{}
			for range watch {
			}
		}()
	}
	for range 100 {
		<-seen
	}
	cancelMany()
	watch := c.Watch(ctx, "/one")
	putKey(t, c, "/one", round)
	select {
	case r := <-watch:
		if len(r.Events) != 1 || string(r.Events[0].Kv.Value) != round {
			t.Errorf("round %s: the watch saw %v", round, r)
		}
	case <-ctx.Done():
		t.Fatalf("round %s: the watch did not see the write", round)
	}
}

// writeUntilDone writes the key until ctx ends.
func writeUntilDone(ctx context.Context, t *testing.T, c *clientv3.Client, key string) {
	for i := 0; ctx.Err() == nil; i++ {
		if _, err := c.Put(ctx, key, fmt.Sprint(i)); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}
}

// slowStream accepts a request when the test receives from taken.
type slowStream struct {
	pb.Watch_WatchClient
	ctx   context.Context
	taken chan *pb.WatchRequest
}

func (s *slowStream) Context() context.Context { return s.ctx }

func (s *slowStream) Send(r *pb.WatchRequest) error {
	select {
	case s.taken <- r:
		return nil
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
}

func TestWatchRequestsKeepTheirOrder(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	slow := &slowStream{ctx: ctx, taken: make(chan *pb.WatchRequest)}
	s := &queueingWatchStream{Watch_WatchClient: slow}
	for _, count := range []int{1, 3, 100} { // the queue becomes empty in between
		sent := make([]*pb.WatchRequest, count)
		for i := range sent {
			sent[i] = &pb.WatchRequest{}
			if err := s.Send(sent[i]); err != nil {
				t.Fatal(err)
			}
		}
		for i := range sent {
			if <-slow.taken != sent[i] {
				t.Fatalf("request %d of %d is not the one that was sent", i, count)
			}
		}
	}
	cancel()
	if err := s.Send(&pb.WatchRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("send after the end: %v", err)
	}
}
