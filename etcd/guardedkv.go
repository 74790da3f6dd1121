package etcd

import (
	"context"
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc"
)

// guardedKV and guardedLease make the writes of the API server pass a spaceGuard.
type guardedKV struct {
	pb.KVClient
	guard *spaceGuard
}

func (c guardedKV) Put(ctx context.Context, in *pb.PutRequest, opts ...grpc.CallOption) (*pb.PutResponse, error) {
	end, err := c.guard.admit(update, len(in.Key)+len(in.Value))
	if err != nil {
		return nil, err
	}
	defer end()
	r, err := c.KVClient.Put(ctx, in, opts...)
	return r, c.guard.explain(err)
}

func (c guardedKV) DeleteRange(ctx context.Context, in *pb.DeleteRangeRequest, opts ...grpc.CallOption) (*pb.DeleteRangeResponse, error) {
	end, err := c.guard.admit(deletion, len(in.Key))
	if err != nil {
		return nil, err
	}
	defer end()
	return c.KVClient.DeleteRange(ctx, in, opts...)
}

func (c guardedKV) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	end, err := c.guard.admit(classifyTxn(in))
	if err != nil {
		return nil, err
	}
	defer end()
	r, err := c.KVClient.Txn(ctx, in, opts...)
	return r, c.guard.explain(err)
}

// Compact succeeds also if spaceWatch has removed more already: the API server would log an
// error every five minutes.
func (c guardedKV) Compact(ctx context.Context, in *pb.CompactionRequest, opts ...grpc.CallOption) (*pb.CompactionResponse, error) {
	r, err := c.KVClient.Compact(ctx, in, opts...)
	if errors.Is(rpctypes.Error(err), rpctypes.ErrCompacted) {
		return &pb.CompactionResponse{}, nil
	}
	return r, err
}

type guardedLease struct {
	pb.LeaseClient
	guard *spaceGuard
}

func (c guardedLease) LeaseGrant(ctx context.Context, in *pb.LeaseGrantRequest, opts ...grpc.CallOption) (*pb.LeaseGrantResponse, error) {
	end, err := c.guard.admit(creation, 0)
	if err != nil {
		return nil, err
	}
	defer end()
	r, err := c.LeaseClient.LeaseGrant(ctx, in, opts...)
	return r, c.guard.explain(err)
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

// explain replaces etcd's error for a full database, which can occur when it fills up
// faster than spaceWatch looks.
func (g *spaceGuard) explain(err error) error {
	if !errors.Is(rpctypes.Error(err), rpctypes.ErrNoSpace) {
		return err
	}
	return g.refuse("all writes are refused for a moment: etcd's database has grown to its limit: try again; if it happens again, delete objects")
}
