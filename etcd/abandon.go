package etcd

import (
	"context"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"google.golang.org/grpc"
)

// abandonable calls a function of the member in another goroutine and returns when the
// lifetime ends, even if the function does not. A fatal error leaves locks of the
// member locked, and no context ends the wait for these.
func abandonable[T any](l *lifetime, call func() (T, error)) (T, error) {
	type result struct {
		value    T
		err      error
		panicked any
	}
	var none T
	if err := context.Cause(l); err != nil {
		return none, err
	}
	answer := make(chan result, 1)
	l.calls.run(l, func() {
		defer func() {
			if p := recover(); p != nil { // not after a fatal error, which ends the lifetime
				answer <- result{panicked: p}
			}
		}()
		value, err := call()
		answer <- result{value: value, err: err}
	})
	select {
	case r := <-answer:
		if r.panicked != nil && l.closing.Load() { // it has met a store that is closed already
			return none, errClosed
		}
		if r.panicked != nil {
			panic(r.panicked)
		}
		return r.value, r.err
	case <-l.Done():
		return none, context.Cause(l)
	}
}

// abandonableKV, abandonableLease and abandonableMaintenance make the calls of the API
// server abandonable.
type abandonableKV struct {
	pb.KVClient
	lifetime *lifetime
}

func (c abandonableKV) Range(ctx context.Context, in *pb.RangeRequest, opts ...grpc.CallOption) (*pb.RangeResponse, error) {
	return abandonable(c.lifetime, func() (*pb.RangeResponse, error) { return c.KVClient.Range(ctx, in, opts...) })
}

func (c abandonableKV) Put(ctx context.Context, in *pb.PutRequest, opts ...grpc.CallOption) (*pb.PutResponse, error) {
	return abandonable(c.lifetime, func() (*pb.PutResponse, error) { return c.KVClient.Put(ctx, in, opts...) })
}

func (c abandonableKV) DeleteRange(ctx context.Context, in *pb.DeleteRangeRequest, opts ...grpc.CallOption) (*pb.DeleteRangeResponse, error) {
	return abandonable(c.lifetime, func() (*pb.DeleteRangeResponse, error) { return c.KVClient.DeleteRange(ctx, in, opts...) })
}

func (c abandonableKV) Txn(ctx context.Context, in *pb.TxnRequest, opts ...grpc.CallOption) (*pb.TxnResponse, error) {
	return abandonable(c.lifetime, func() (*pb.TxnResponse, error) { return c.KVClient.Txn(ctx, in, opts...) })
}

func (c abandonableKV) Compact(ctx context.Context, in *pb.CompactionRequest, opts ...grpc.CallOption) (*pb.CompactionResponse, error) {
	return abandonable(c.lifetime, func() (*pb.CompactionResponse, error) { return c.KVClient.Compact(ctx, in, opts...) })
}

type abandonableLease struct {
	pb.LeaseClient
	lifetime *lifetime
}

func (c abandonableLease) LeaseGrant(ctx context.Context, in *pb.LeaseGrantRequest, opts ...grpc.CallOption) (*pb.LeaseGrantResponse, error) {
	return abandonable(c.lifetime, func() (*pb.LeaseGrantResponse, error) { return c.LeaseClient.LeaseGrant(ctx, in, opts...) })
}

func (c abandonableLease) LeaseTimeToLive(ctx context.Context, in *pb.LeaseTimeToLiveRequest, opts ...grpc.CallOption) (*pb.LeaseTimeToLiveResponse, error) {
	return abandonable(c.lifetime, func() (*pb.LeaseTimeToLiveResponse, error) {
		return c.LeaseClient.LeaseTimeToLive(ctx, in, opts...)
	})
}

type abandonableMaintenance struct {
	pb.MaintenanceClient
	lifetime *lifetime
}

func (c abandonableMaintenance) Status(ctx context.Context, in *pb.StatusRequest, opts ...grpc.CallOption) (*pb.StatusResponse, error) {
	return abandonable(c.lifetime, func() (*pb.StatusResponse, error) { return c.MaintenanceClient.Status(ctx, in, opts...) })
}
