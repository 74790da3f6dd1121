package etcd

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
)

// memberCalls is how a client calls the member: every call is abandonable, and writes pass a guard.
type memberCalls struct {
	lifetime *lifetime
	guard    *spaceGuard // nil = none
}

// write makes a call that writes if there is room for it, unless its context has ended. The server may propose such a
// write all the same: it chooses at random between the end of the context and a log that accepts an entry. A
// canceled request may reach the store seconds later, when its namespace was deleted or a
// snapshot was restored. A write that has begun is waited for, at most for etcd's time-out: it is stored
// even if its context ends then, and its caller would not know.
func write[T any](ctx context.Context, c memberCalls, kind writeKind, bytes int, call func(context.Context) (T, error)) (T, error) {
	return abandonable(c.lifetime, func() (none T, err error) {
		if c.guard != nil {
			end, err := c.guard.admit(kind, bytes)
			if err != nil {
				return none, err
			}
			defer end()
		}
		if err := ctx.Err(); err != nil {
			return none, err
		}
		result, err := call(context.WithoutCancel(ctx))
		return result, c.guard.explain(err)
	})
}

type memberKV struct {
	pb.KVClient
	memberCalls
}

func (c memberKV) Range(ctx context.Context, in *pb.RangeRequest, opts ...grpc.CallOption) (*pb.RangeResponse, error) {
	return abandonable(c.lifetime, func() (*pb.RangeResponse, error) { return c.KVClient.Range(ctx, in, opts...) })
}

func (c memberKV) Put(ctx context.Context, in *pb.PutRequest, opts ...grpc.CallOption) (*pb.PutResponse, error) {
	return write(ctx, c.memberCalls, update, len(in.Key)+len(in.Value), func(ctx context.Context) (*pb.PutResponse, error) {
		return c.KVClient.Put(ctx, in, opts...)
	})
}

func (c memberKV) DeleteRange(ctx context.Context, in *pb.DeleteRangeRequest, opts ...grpc.CallOption) (*pb.DeleteRangeResponse, error) {
	return write(ctx, c.memberCalls, deletion, len(in.Key), func(ctx context.Context) (*pb.DeleteRangeResponse, error) {
		return c.KVClient.DeleteRange(ctx, in, opts...)
	})
}

func (c memberKV) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	kind, bytes := classifyTxn(in)
	return write(ctx, c.memberCalls, kind, bytes, func(ctx context.Context) (*pb.TxnResponse, error) {
		return c.KVClient.Txn(ctx, in, opts...)
	})
}

// Compact succeeds also if spaceWatch has removed more already: the API server would log an
// error every five minutes.
func (c memberKV) Compact(ctx context.Context, in *pb.CompactionRequest, opts ...grpc.CallOption) (*pb.CompactionResponse, error) {
	r, err := abandonable(c.lifetime, func() (*pb.CompactionResponse, error) { return c.KVClient.Compact(ctx, in, opts...) })
	if errors.Is(rpctypes.Error(err), rpctypes.ErrCompacted) {
		return &pb.CompactionResponse{}, nil
	}
	return r, err
}

type memberLease struct {
	pb.LeaseClient
	memberCalls
}

func (c memberLease) LeaseGrant(ctx context.Context, in *pb.LeaseGrantRequest, opts ...grpc.CallOption) (*pb.LeaseGrantResponse, error) {
	return write(ctx, c.memberCalls, creation, 0, func(ctx context.Context) (*pb.LeaseGrantResponse, error) {
		return c.LeaseClient.LeaseGrant(ctx, in, opts...)
	})
}

func (c memberLease) LeaseTimeToLive(ctx context.Context, in *pb.LeaseTimeToLiveRequest, opts ...grpc.CallOption) (*pb.LeaseTimeToLiveResponse, error) {
	return abandonable(c.lifetime, func() (*pb.LeaseTimeToLiveResponse, error) {
		return c.LeaseClient.LeaseTimeToLive(ctx, in, opts...)
	})
}

type memberMaintenance struct {
	pb.MaintenanceClient
	memberCalls
}

func (c memberMaintenance) Status(ctx context.Context, in *pb.StatusRequest, opts ...grpc.CallOption) (*pb.StatusResponse, error) {
	return abandonable(c.lifetime, func() (*pb.StatusResponse, error) { return c.MaintenanceClient.Status(ctx, in, opts...) })
}

// classifyTxn returns what a transaction may do, and the bytes that it may write. A put
// creates a key if the transaction requires that there is none.
func classifyTxn(in *pb.TxnRequest) (kind writeKind, bytes int) {
	creates := map[string]bool{}
	for _, c := range in.Compare {
		if c.Target == pb.Compare_MOD && c.Result == pb.Compare_EQUAL && c.GetModRevision() == 0 {
			creates[string(c.Key)] = true
		}
	}
	for _, ops := range [][]*pb.RequestOp{in.Success, in.Failure} {
		for _, op := range ops {
			switch put, del := op.GetRequestPut(), op.GetRequestDeleteRange(); {
			case put != nil && creates[string(put.Key)]:
				kind = max(kind, creation)
				bytes += len(put.Key) + len(put.Value)
			case put != nil:
				kind = max(kind, update)
				bytes += len(put.Key) + len(put.Value)
			case del != nil:
				kind = max(kind, deletion)
				bytes += len(del.Key)
			}
		}
	}
	return kind, bytes
}
