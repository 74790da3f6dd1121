package etcd

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// pageSize is the number of keys per read.
const pageSize = 1000

// Revision returns the revision of the last write, to a user who may read what is below prefix.
func (s *Server) Revision(ctx context.Context, prefix string) (revision int64, err error) {
	if s.member != nil {
		size, err := abandonable(s.lifetime, s.member.storeSize)
		return size.revision, err
	}
	err = s.withClient(ctx, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Get(ctx, healthKey(prefix), clientv3.WithCountOnly())
		if err != nil {
			return fmt.Errorf("etcd: revision: %w", err)
		}
		revision = r.Header.Revision
		return nil
	})
	return revision, err
}

// ClusterID identifies a cluster, to a user who may read what is below prefix. It is empty for an embedded member: all of those have
// the same, and are known by their folder.
func (s *Server) ClusterID(ctx context.Context, prefix string) (id string, err error) {
	if s.member != nil {
		return "", nil
	}
	err = s.withClient(ctx, func(ctx context.Context, c *clientv3.Client) error {
		r, err := c.Get(ctx, healthKey(prefix), clientv3.WithCountOnly())
		if err != nil {
			return fmt.Errorf("etcd: cluster ID: %w", err)
		}
		id = fmt.Sprintf("%x", r.Header.ClusterId)
		return nil
	})
	return id, err
}

// healthKey is the key that the API server reads to know whether etcd is healthy. It need not exist.
func healthKey(prefix string) string { return path.Join(prefix, "health") }

// ReadState returns the entries below prefix at a revision; 0 = the latest. Older
// revisions can be read for some minutes, until they are compacted.
func (s *Server) ReadState(ctx context.Context, prefix string, revision int64) (state snapshot.State, err error) {
	err = s.withClient(ctx, func(ctx context.Context, c *clientv3.Client) error {
		state, err = readState(ctx, c, prefix, revision)
		return err
	})
	return state, err
}

func readState(ctx context.Context, c *clientv3.Client, prefix string, revision int64) (state snapshot.State, err error) {
	state.Revision = revision
	leases := map[clientv3.LeaseID]int{} // → index of its TTL, from 1
	end := clientv3.GetPrefixRangeEnd(prefix + "/")
	for from := prefix + "/"; ; {
		r, err := c.Get(ctx, from, clientv3.WithRange(end), clientv3.WithLimit(pageSize), clientv3.WithRev(state.Revision))
		if err != nil {
			return state, fmt.Errorf("etcd: read: %w", err)
		}
		if state.Revision == 0 {
			state.Revision = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			ttl, err := leaseTTL(ctx, c, clientv3.LeaseID(kv.Lease), leases, &state)
			if err != nil {
				return state, err
			}
			state.Entries = append(state.Entries, snapshot.Entry{
				Key: strings.TrimPrefix(string(kv.Key), prefix), Value: kv.Value, TTL: ttl, Revision: kv.ModRevision,
			})
		}
		if !r.More {
			return state, nil
		}
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

// leaseTTL returns the index in state.TTLs of the remaining time of a lease, and adds
// that time if it is not known yet.
func leaseTTL(ctx context.Context, c *clientv3.Client, id clientv3.LeaseID, known map[clientv3.LeaseID]int, state *snapshot.State) (int, error) {
	if id == clientv3.NoLease || known[id] != 0 {
		return known[id], nil
	}
	r, err := c.TimeToLive(ctx, id)
	if err != nil {
		return 0, fmt.Errorf("etcd: read: lease: %w", err)
	}
	// In its last second, and until etcd removes its keys, a lease has no whole second left.
	state.TTLs = append(state.TTLs, time.Duration(max(r.TTL, 1))*time.Second)
	known[id] = len(state.TTLs)
	return known[id], nil
}
