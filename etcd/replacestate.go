package etcd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

const (
	// maxTxnWrites and maxTxnBytes limit a transaction. Etcd's defaults are 128 writes
	// and 1.5 MiB.
	maxTxnWrites = 128
	maxTxnBytes  = 1 << 20
	// maxWriteRounds is how often to retry after a concurrent write.
	maxWriteRounds = 5
)

// WriteResult describes what ReplaceState has written.
type WriteResult struct {
	snapshot.Counts
	Revision int64 // the latest
	// Revisions is the revision of the last write of each changed key.
	Revisions map[string]int64
}

var errConcurrentWrite = errors.New("another client has written at the same time")

// ReplaceState makes the entries below prefix equal to want. It writes only what
// differs, at new revisions (see snapshot.NewPlan). After an error, some of it may have
// been written.
func (s *Server) ReplaceState(ctx context.Context, prefix string, want snapshot.State) (done WriteResult, err error) {
	done.Revisions = map[string]int64{}
	err = s.withClient(ctx, func(ctx context.Context, c *clientv3.Client) error {
		w := stateWriter{ctx: ctx, client: c, prefix: prefix, want: want, done: &done}
		if s.member != nil {
			w.guard = s.member.guard
		}
		for range maxWriteRounds {
			equal, err := w.writeDifferences()
			if err == nil && equal {
				return nil
			}
			if err != nil && !errors.Is(err, errConcurrentWrite) {
				return fmt.Errorf("etcd: replace state: %w", err)
			}
		}
		return fmt.Errorf("etcd: replace state: %w, in %d attempts: stop the other users of this etcd and try again", errConcurrentWrite, maxWriteRounds)
	})
	return done, err
}

type stateWriter struct {
	ctx    context.Context
	client *clientv3.Client
	prefix string
	want   snapshot.State
	guard  *spaceGuard        // nil for a cluster
	leases []clientv3.LeaseID // of want.TTLs, granted when first needed
	done   *WriteResult
}

// writeDifferences writes what differs. It returns true if nothing does.
func (w *stateWriter) writeDifferences() (equal bool, err error) {
	now, err := readState(w.ctx, w.client, w.prefix, 0)
	if err != nil {
		return false, err
	}
	plan := snapshot.NewPlan(now, w.want)
	w.done.Revision = now.Revision
	if len(plan.Deletes)+len(plan.Puts) == 0 {
		return true, nil
	}
	if w.guard != nil {
		end, err := w.guard.admit(update, writtenBytes(plan)) // before a part of it is written
		if err != nil {
			return false, err
		}
		defer end()
	}
	if err := w.commitChanges(plan.Deletes); err != nil {
		return false, err
	}
	// The keys deleted above have no revision, as their puts expect.
	if err := w.commitChanges(plan.Puts); err != nil {
		return false, err
	}
	w.done.Created += plan.Created
	w.done.Updated += plan.Updated
	w.done.Deleted += plan.Deleted
	w.done.Replaced += plan.Replaced
	return false, nil
}

func writtenBytes(plan snapshot.Plan) (bytes int) {
	for _, write := range slices.Concat(plan.Deletes, plan.Puts) {
		bytes += len(write.Key) + len(write.Value)
	}
	return bytes
}

// commitChanges writes in as few transactions as possible.
func (w *stateWriter) commitChanges(writes []snapshot.KeyChange) error {
	for len(writes) > 0 {
		n, size := 0, 0
		for n < min(len(writes), maxTxnWrites) && (n == 0 || size+len(writes[n].Value) <= maxTxnBytes) {
			size += len(writes[n].Key) + len(writes[n].Value)
			n++
		}
		if err := w.commitTxn(writes[:n]); err != nil {
			return err
		}
		writes = writes[n:]
	}
	return nil
}

func (w *stateWriter) commitTxn(writes []snapshot.KeyChange) error {
	var ifs []clientv3.Cmp
	var thens []clientv3.Op
	for _, write := range writes {
		key := w.prefix + write.Key
		ifs = append(ifs, clientv3.Compare(clientv3.ModRevision(key), "=", write.ExpectedRevision))
		op := clientv3.OpDelete(key)
		if write.Value != nil {
			lease, err := w.grantLease(write.TTL)
			if err != nil {
				return err
			}
			op = clientv3.OpPut(key, string(write.Value), clientv3.WithLease(lease))
		}
		thens = append(thens, op)
	}
	r, err := w.client.Txn(w.ctx).If(ifs...).Then(thens...).Commit()
	if err != nil {
		return err
	}
	if !r.Succeeded {
		return errConcurrentWrite
	}
	for _, write := range writes {
		w.done.Revisions[write.Key] = r.Header.Revision
	}
	return nil
}

// grantLease returns a lease for the time to live of an entry. Entries that share a
// time to live share a lease.
func (w *stateWriter) grantLease(ttl int) (clientv3.LeaseID, error) {
	if ttl == 0 {
		return clientv3.NoLease, nil
	}
	if w.leases == nil {
		w.leases = make([]clientv3.LeaseID, len(w.want.TTLs))
	}
	if w.leases[ttl-1] == clientv3.NoLease {
		seconds := int64(math.Ceil(w.want.TTLs[ttl-1].Seconds()))
		r, err := w.client.Grant(w.ctx, max(seconds, 1))
		if err != nil {
			return 0, fmt.Errorf("lease: %w", err)
		}
		w.leases[ttl-1] = r.ID
	}
	return w.leases[ttl-1], nil
}
