package etcd

import (
	"context"
	"fmt"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
)

// IsEmpty reports whether an embedded member's store has never been written to.
func (s *Server) IsEmpty() bool {
	const first = 1 // the revision of an empty store
	return s.member != nil && s.member.etcd.Server.KV().Rev() == first
}

// PutAll writes pairs to an embedded member's store, all at one revision.
func (s *Server) PutAll(ctx context.Context, pairs func(yield func(key string, value []byte) bool)) error {
	txn := &etcdserverpb.TxnRequest{}
	for key, value := range pairs {
		put := &etcdserverpb.PutRequest{Key: []byte(key), Value: value}
		txn.Success = append(txn.Success, &etcdserverpb.RequestOp{Request: &etcdserverpb.RequestOp_RequestPut{RequestPut: put}})
	}
	_, err := abandonable(s.lifetime, func() (*etcdserverpb.TxnResponse, error) { return s.member.etcd.Server.Txn(ctx, txn) })
	if err != nil {
		return fmt.Errorf("etcd: put all: %w", err)
	}
	return nil
}
