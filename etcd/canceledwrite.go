package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// liveKV refuses writes whose context has ended. The server may propose them all the same:
// it chooses at random between the end of the context and a log that accepts an entry. A
// canceled request may reach the store seconds later, when its namespace was deleted or a
// snapshot was restored. A write that has begun is waited for, at most for etcd's time-out: it is stored
// even if its context ends then, and its caller would not know.
type liveKV struct{ pb.KVClient }

func (c liveKV) Put(ctx context.Context, in *pb.PutRequest, opts ...grpc.CallOption) (*pb.PutResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.KVClient.Put(context.WithoutCancel(ctx), in, opts...)
}

func (c liveKV) DeleteRange(ctx context.Context, in *pb.DeleteRangeRequest, opts ...grpc.CallOption) (*pb.DeleteRangeResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.KVClient.DeleteRange(context.WithoutCancel(ctx), in, opts...)
}

func (c liveKV) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return c.KVClient.Txn(context.WithoutCancel(ctx), in, opts...)
}
