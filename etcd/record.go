package etcd

import (
	"context"
	"fmt"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// PutRecord writes one key.
func (s *Server) PutRecord(ctx context.Context, key, value string) error {
	return s.withClient(ctx, func(ctx context.Context, c *clientv3.Client) error {
		if _, err := c.Put(ctx, key, value); err != nil {
			return fmt.Errorf("etcd: write %s: %w", key, err)
		}
		return nil
	})
}

// Record returns the value of one key; empty = the key does not exist.
func (s *Server) Record(ctx context.Context, key string) (value string, err error) {
	err = s.withClient(ctx, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Get(ctx, key)
		if err != nil {
			return fmt.Errorf("etcd: read %s: %w", key, err)
		}
		if len(r.Kvs) > 0 {
			value = string(r.Kvs[0].Value)
		}
		return nil
	})
	return value, err
}

// DeleteRecord deletes one key, if it has that value.
func (s *Server) DeleteRecord(ctx context.Context, key, value string) error {
	return s.withClient(ctx, func(ctx context.Context, c *clientv3.Client) error {
		hasValue := clientv3.Compare(clientv3.Value(key), "=", value)
		if _, err := c.Txn(ctx).If(hasValue).Then(clientv3.OpDelete(key)).Commit(); err != nil {
			return fmt.Errorf("etcd: delete %s: %w", key, err)
		}
		return nil
	})
}
