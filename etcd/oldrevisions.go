package etcd

import (
	"context"
	"errors"
	"slices"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/storage/mvcc"
)

const (
	// maxOldBytes is how much may be written until revisions older than keptRevisions are removed.
	maxOldBytes = 16 << 20
	// keptRevisions is for how long revisions are kept at least: for lists that are read in
	// parts, and for watches that begin again after their latest bookmark, which is up to two
	// intervals old.
	keptRevisions = 2*BookmarkInterval + 30*time.Second
)

// oldRevisions removes old revisions when much was written since the last time. The API
// server keeps those of five minutes or more, in which a busy control plane writes hundreds
// of MiB; and the file of the database, which is mapped into memory, never becomes smaller
// by itself.
type oldRevisions struct {
	compact func(ctx context.Context, revision int64) error

	moments []moment // in order; the first is keptRevisions old, if there is one
	removed int64    // bytes that had been written at the latest removed revision
}

// moment is the state of the store at a time.
type moment struct {
	at       time.Time
	revision int64
	written  int64 // bytes since the start
}

func newOldRevisions(server *etcdserver.EtcdServer) *oldRevisions {
	return &oldRevisions{compact: func(ctx context.Context, revision int64) error {
		_, err := server.Compact(ctx, &pb.CompactionRequest{Revision: revision})
		if errors.Is(err, mvcc.ErrCompacted) { // by the API server
			return nil
		}
		return err
	}}
}

// revisionAt returns the newest revision that was noted until a time; 0 = none was.
func (o *oldRevisions) revisionAt(t time.Time) (revision int64) {
	for _, m := range o.moments {
		if m.at.After(t) {
			break
		}
		revision = m.revision
	}
	return revision
}

// look notes the present state, and removes old revisions if it is time.
func (o *oldRevisions) look(ctx context.Context, now moment) error {
	if n := len(o.moments); n > 0 && now.at.Sub(o.moments[n-1].at) < spaceInterval/2 {
		return nil // the space watch was woken up
	}
	o.moments = append(o.moments, now)
	recent, _ := slices.BinarySearchFunc(o.moments, now.at.Add(-keptRevisions), func(m moment, t time.Time) int {
		if m.at.After(t) {
			return 1
		}
		return -1
	})
	if recent == 0 {
		return nil
	}
	o.moments = slices.Delete(o.moments, 0, recent-1)
	old := o.moments[0]
	if old.written-o.removed < maxOldBytes {
		return nil
	}
	o.removed = old.written
	return o.compact(ctx, old.revision)
}
