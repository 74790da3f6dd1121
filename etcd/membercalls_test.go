package etcd

import (
	"context"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
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

// leavingCaller is a server whose caller goes during each call.
type leavingCaller struct {
	pb.KVClient
	leave func()
}

func (s leavingCaller) Put(ctx context.Context, _ *pb.PutRequest, _ ...grpc.CallOption) (*pb.PutResponse, error) {
	s.leave()
	return &pb.PutResponse{}, ctx.Err()
}

func (s leavingCaller) DeleteRange(ctx context.Context, _ *pb.DeleteRangeRequest, _ ...grpc.CallOption) (*pb.DeleteRangeResponse, error) {
	s.leave()
	return &pb.DeleteRangeResponse{}, ctx.Err()
}

func (s leavingCaller) Txn(ctx context.Context, _ *pb.TxnRequest, _ ...grpc.CallOption) (*pb.TxnResponse, error) {
	s.leave()
	return &pb.TxnResponse{}, ctx.Err()
}

// A write that has begun is stored, and so its outcome is reported, even if its caller has gone.
func TestWritesInFlightAreNotCanceled(t *testing.T) {
	for name, write := range map[string]func(context.Context, memberKV) error{
		"put": func(ctx context.Context, c memberKV) error { _, err := c.Put(ctx, &pb.PutRequest{}); return err },
		"delete": func(ctx context.Context, c memberKV) error {
			_, err := c.DeleteRange(ctx, &pb.DeleteRangeRequest{})
			return err
		},
		"txn": func(ctx context.Context, c memberKV) error { _, err := c.Txn(ctx, &pb.TxnRequest{}); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		l := newLifetime(t.Context())
		if err := write(ctx, memberKV{leavingCaller{leave: cancel}, memberCalls{lifetime: l}}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		l.end(errClosed)
	}
}
