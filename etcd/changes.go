package etcd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Change is a write or a deletion of one key.
type Change struct {
	Key    string // without the prefix
	Value  []byte // nil = it was deleted
	Before []byte // nil = it did not exist, or that is not known
}

var (
	// ErrCompacted says that changes are no longer known.
	ErrCompacted = errors.New("etcd has compacted the revisions since then")
	// ErrOlder says that etcd is at an earlier revision, as after its files were replaced by a backup.
	ErrOlder = errors.New("etcd is at an earlier revision than then")
)

// IsPermissionDenied reports whether an error means that the user of etcd may not do that.
func IsPermissionDenied(err error) bool { return errors.Is(err, rpctypes.ErrPermissionDenied) }

// EachChange calls f with each change below prefix that was made after a revision, in
// order, until f returns false. It writes the key marker, which must be PREFIX.NAME and be of
// no other use: the changes up to that write are those until now.
func (s *Server) EachChange(ctx context.Context, prefix, marker string, since int64, f func(Change) bool) error {
	return s.withClient(ctx, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Put(ctx, marker, "")
		if err != nil {
			return fmt.Errorf("etcd: write %s: %w", marker, err)
		}
		if _, err := c.Delete(ctx, marker); err != nil {
			return fmt.Errorf("etcd: delete %s: %w", marker, err)
		}
		now := r.Header.Revision
		if now <= since {
			return ErrOlder // a watch would wait for the revision
		}
		watch := c.Watch(ctx, prefix, clientv3.WithRange(clientv3.GetPrefixRangeEnd(prefix+"/")), clientv3.WithRev(since+1), clientv3.WithPrevKV())
		for r := range watch {
			if err := r.Err(); err != nil {
				if errors.Is(err, rpctypes.ErrCompacted) {
					return ErrCompacted
				}
				return fmt.Errorf("etcd: read changes: %w", err)
			}
			for _, e := range r.Events {
				if e.Kv.ModRevision >= now {
					return nil
				}
				if key, below := strings.CutPrefix(string(e.Kv.Key), prefix+"/"); below && !f(newChange("/"+key, e)) {
					return nil
				}
			}
		}
		return fmt.Errorf("etcd: read changes: the watch has ended: %w", cmp.Or(context.Cause(ctx), context.Canceled))
	})
}

func newChange(key string, e *clientv3.Event) Change {
	c := Change{Key: key}
	if e.Type == clientv3.EventTypePut {
		c.Value = bytes.Clone(e.Kv.Value)
		if c.Value == nil {
			c.Value = []byte{}
		}
	}
	if e.PrevKv != nil {
		c.Before = e.PrevKv.Value
	}
	return c
}
