package etcd

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// stateLeases grants the leases of the entries of a state. Entries that share a time to
// live share a lease.
type stateLeases struct {
	client *clientv3.Client
	ttls   []time.Duration // snapshot.State.TTLs

	mu      sync.Mutex
	granted []clientv3.LeaseID // by index of ttls
}

func newStateLeases(client *clientv3.Client, ttls []time.Duration) *stateLeases {
	return &stateLeases{client: client, ttls: ttls, granted: make([]clientv3.LeaseID, len(ttls))}
}

// grant returns a lease for snapshot.Entry.TTL. It is not the expired one, which an earlier call
// has returned.
func (l *stateLeases) grant(ctx context.Context, ttl int, expired clientv3.LeaseID) (clientv3.LeaseID, error) {
	if ttl == 0 {
		return clientv3.NoLease, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if lease := l.granted[ttl-1]; lease != clientv3.NoLease && lease != expired {
		return lease, nil
	}
	seconds := int64(math.Ceil(l.ttls[ttl-1].Seconds()))
	r, err := l.client.Grant(ctx, max(seconds, 1))
	if err != nil {
		return clientv3.NoLease, fmt.Errorf("lease: %w", err)
	}
	l.granted[ttl-1] = r.ID
	return r.ID, nil
}
