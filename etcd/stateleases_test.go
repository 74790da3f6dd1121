package etcd

import (
	"context"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

// expiringLeases ends the first leases that it grants before a key has them.
type expiringLeases struct {
	clientv3.Lease
	expire  int
	granted []clientv3.LeaseID
}

func (l *expiringLeases) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	r, err := l.Lease.Grant(ctx, ttl)
	if err != nil {
		return nil, err
	}
	if l.granted = append(l.granted, r.ID); len(l.granted) <= l.expire {
		_, err = l.Revoke(ctx, r.ID)
	}
	return r, err
}

// withStateOfEvents calls test with a writer of two Events that share a time to live, which
// does not end during the test: leases end when the test revokes them.
func withStateOfEvents(t *testing.T, s *Server, expire int, test func(*stateWriter, *expiringLeases)) {
	t.Helper()
	want := snapshot.State{TTLs: []time.Duration{time.Hour}, Entries: []snapshot.Entry{
		{Key: "/events/ns/a", Value: []byte(`{"v":0}`), TTL: 1}, {Key: "/events/ns/b", Value: []byte(`{"v":0}`), TTL: 1},
	}}
	done := newWriteResult()
	must(t, s.withStateWriter(testContext(t), prefix, want, &done, func(w *stateWriter) error {
		leases := &expiringLeases{Lease: w.client.Lease, expire: expire}
		w.client.Lease = leases
		test(w, leases)
		return nil
	}))
}

func requireWritten(t *testing.T, w *stateWriter) {
	t.Helper()
	now, err := readState(w.ctx, w.client, w.prefix, 0)
	must(t, err)
	if _, err := w.writeDifferences(now); err != nil {
		t.Fatal(err)
	}
	now, err = readState(w.ctx, w.client, w.prefix, 0)
	must(t, err)
	if len(now.Entries) != 2 || now.Entries[0].TTL != 1 || now.Entries[1].TTL != 1 {
		t.Errorf("entries %+v, want two with a lease", now.Entries)
	}
}

// A lease of an Event that has a second left may expire before the Event is written.
func TestLeaseThatExpiresBeforeItsKeysAreWritten(t *testing.T) {
	forEachStore(t, func(t *testing.T, s *Server, _ *clientv3.Client) {
		withStateOfEvents(t, s, 2, func(w *stateWriter, leases *expiringLeases) {
			requireWritten(t, w)
			if len(leases.granted) != 3 {
				t.Errorf("%d leases were granted, want 3", len(leases.granted))
			}
		})
	})
}

// Events that have expired when the state is read again are written with a new lease.
func TestLeaseThatExpiresBetweenTwoRounds(t *testing.T) {
	forEachStore(t, func(t *testing.T, s *Server, _ *clientv3.Client) {
		withStateOfEvents(t, s, 0, func(w *stateWriter, leases *expiringLeases) {
			requireWritten(t, w)
			_, err := leases.Revoke(w.ctx, leases.granted[0])
			must(t, err)
			requireWritten(t, w)
		})
	})
}

// A put that finds its lease expired each time fails, and does not go on forever.
func TestLeasesThatAlwaysExpire(t *testing.T) {
	s := startServer(t, Config{Dir: t.TempDir(), NoSync: true})
	withStateOfEvents(t, s, 1000, func(w *stateWriter, leases *expiringLeases) {
		if err := w.commitPlan(snapshot.NewPlan(snapshot.State{}, w.want)); err == nil {
			t.Error("got no error")
		}
	})
}
