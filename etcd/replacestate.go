package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/errgroup"

	"github.com/ctrlplane/ctrlplane/internal/snapshot"
)

const (
	// maxWritesInFlight is how many writes are sent before the first is answered: etcd
	// saves them to its log together.
	maxWritesInFlight = 128
	// maxWriteRounds is how often to retry after a concurrent write.
	maxWriteRounds = 5
	// maxLeasesPerWrite is how many leases of a key may expire before it is written.
	maxLeasesPerWrite = 5
)

// WriteResult describes what ReplaceState has written.
type WriteResult struct {
	snapshot.Counts
	Revision int64 // the latest
	// Revisions is the revision of the last write of each changed key.
	Revisions map[string]int64
	// Deletions is the revision of the last deletion of each key that was deleted, also if it has been
	// written since.
	Deletions map[string]int64
}

func newWriteResult() WriteResult {
	return WriteResult{Revisions: map[string]int64{}, Deletions: map[string]int64{}}
}

// ErrConcurrentWrite says that a key was written after it was read.
var ErrConcurrentWrite = errors.New("another client has written at the same time")

// ReplaceState makes the entries below prefix equal to want. It writes only what
// differs (see snapshot.NewPlan), each object at a new revision of its own: a watch that
// goes on after the revision of an event would miss the others of the same revision. After
// an error, some of it may have been written.
func (s *Server) ReplaceState(ctx context.Context, prefix string, want snapshot.State) (done WriteResult, err error) {
	done = newWriteResult()
	err = s.withStateWriter(ctx, prefix, want, &done, func(w *stateWriter) error {
		for range maxWriteRounds {
			now, err := readState(w.ctx, w.client, w.prefix, 0)
			if err != nil {
				return err
			}
			equal, err := w.writeDifferences(now)
			if err == nil && equal {
				return nil
			}
			if err != nil && !errors.Is(err, ErrConcurrentWrite) {
				return fmt.Errorf("etcd: replace state: %w", err)
			}
		}
		return fmt.Errorf("etcd: replace state: %w, in %d attempts: stop the other users of this etcd and try again", ErrConcurrentWrite, maxWriteRounds)
	})
	return done, err
}

// WriteDifferences writes what differs between now, which ReadState has returned, and want, as
// ReplaceState does. If another client has written one of these keys since, it fails with
// ErrConcurrentWrite: what others write is not overwritten. After an error, some of it may have
// been written.
func (s *Server) WriteDifferences(ctx context.Context, prefix string, now, want snapshot.State) (done WriteResult, err error) {
	done = newWriteResult()
	err = s.withStateWriter(ctx, prefix, want, &done, func(w *stateWriter) error {
		if _, err := w.writeDifferences(now); err != nil {
			return fmt.Errorf("etcd: replace state: %w", err)
		}
		return nil
	})
	return done, err
}

// CheckSpace fails if the space does not suffice for what ReplaceState would write of want: for a state
// that is written in parts.
func (s *Server) CheckSpace(now, want snapshot.State) error {
	end, err := s.admitPlan(snapshot.NewPlan(now, want))
	if err != nil {
		return fmt.Errorf("etcd: replace state: %w", err)
	}
	end()
	return nil
}

// admitPlan returns why the writes of a plan are refused. If they are not, the caller calls end after them. It may
// make the database write: a fatal error of etcd ends the goroutine that does so, or keeps it waiting.
func (s *Server) admitPlan(plan snapshot.Plan) (end func(), err error) {
	if s.member == nil {
		return func() {}, nil
	}
	return abandonable(s.lifetime, func() (func(), error) { return s.member.guard.admit(update, writtenBytes(plan)) })
}

func (s *Server) withStateWriter(ctx context.Context, prefix string, want snapshot.State, done *WriteResult, write func(*stateWriter) error) error {
	return s.withClient(ctx, func(ctx context.Context, c *clientv3.Client) error {
		return write(s.newStateWriter(ctx, c, prefix, want, done))
	})
}

type stateWriter struct {
	ctx    context.Context
	client *clientv3.Client
	prefix string
	want   snapshot.State
	admit  func(snapshot.Plan) (end func(), err error) // before a part of a plan is written
	leases *stateLeases

	mu   sync.Mutex // while writes are in flight
	done *WriteResult
}

func (s *Server) newStateWriter(ctx context.Context, c *clientv3.Client, prefix string, want snapshot.State, done *WriteResult) *stateWriter {
	return &stateWriter{ctx: ctx, client: c, prefix: prefix, want: want, admit: s.admitPlan, done: done, leases: newStateLeases(c, want.TTLs)}
}

// writeDifferences writes what differs from now. It returns true if nothing does.
func (w *stateWriter) writeDifferences(now snapshot.State) (equal bool, err error) {
	plan := snapshot.NewPlan(now, w.want)
	w.done.Revision = now.Revision
	w.leases = newStateLeases(w.client, w.want.TTLs) // those of the round before may have expired
	if plan.IsEmpty() {
		return true, nil
	}
	end, err := w.admit(plan)
	if err != nil {
		return false, err
	}
	defer end()
	if err := w.commitPlan(plan); err != nil {
		return false, err
	}
	w.done.Counts.Add(plan.Counts)
	return false, nil
}

func writtenBytes(plan snapshot.Plan) (bytes int) {
	for writes := range plan.Changes() {
		for _, write := range writes {
			bytes += len(write.Key) + len(write.Value)
		}
	}
	return bytes
}

// commitPlan writes in the order of the plan.
func (w *stateWriter) commitPlan(plan snapshot.Plan) error {
	for writes := range plan.Changes() {
		if err := w.commitInAnyOrder(writes); err != nil {
			return err
		}
	}
	return nil
}

// commitInAnyOrder returns when no write is in flight. After an error it begins no other.
func (w *stateWriter) commitInAnyOrder(writes []snapshot.KeyChange) error {
	var group errgroup.Group
	group.SetLimit(maxWritesInFlight)
	var failed atomic.Bool
	for _, write := range writes {
		group.Go(func() error {
			if failed.Load() {
				return nil
			}
			err := w.commit(write)
			if err != nil {
				failed.Store(true)
			}
			return err
		})
	}
	return group.Wait()
}

// commit writes one key, unless another client has written it since it was read. A lease that has
// expired since it was granted is replaced.
func (w *stateWriter) commit(write snapshot.KeyChange) (err error) {
	lease := clientv3.NoLease
	for range maxLeasesPerWrite {
		if lease, err = w.leases.grant(w.ctx, write.TTL, lease); err != nil {
			return err
		}
		if err = w.commitWithLease(write, lease); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			break
		}
	}
	return err
}

func (w *stateWriter) commitWithLease(write snapshot.KeyChange, lease clientv3.LeaseID) error {
	key := w.prefix + write.Key
	op := clientv3.OpDelete(key)
	if write.Value != nil {
		op = clientv3.OpPut(key, string(write.Value), clientv3.WithLease(lease))
	}
	r, err := w.client.Txn(w.ctx).If(clientv3.Compare(clientv3.ModRevision(key), "=", write.ExpectedRevision)).Then(op).Commit()
	if err != nil {
		return err
	}
	if !r.Succeeded {
		return ErrConcurrentWrite
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done.Revisions[write.Key] = r.Header.Revision
	if write.Value == nil {
		w.done.Deletions[write.Key] = r.Header.Revision
	}
	return nil
}
