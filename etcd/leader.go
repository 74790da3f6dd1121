package etcd

import (
	"cmp"
	"context"
	"errors"
	"expvar"
	"fmt"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
)

const (
	// electInterval is the interval between attempts to become leader.
	electInterval = 500 * time.Microsecond
	// firstEntryTries is how often to wait for the first applied entry before trying
	// to become leader. Raft refuses, with a warning, until it has applied the entry
	// that makes this member a voter.
	firstEntryTries = 10
	// leaderTimeout bounds the wait for leadership, which takes milliseconds, or on a
	// very slow disk seconds.
	leaderTimeout = time.Minute
)

// waitReady returns when the member answers linearised reads.
func (m *member) waitReady(ctx context.Context, found raftIndexes) error {
	srv := m.etcd.Server
	// A server that fails in the meantime never answers.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.lifetime, func() { cancel(m.lifetime.failure()) })()

	err := becomeLeader(ctx, srv)
	if err == nil {
		err = appendMissingEntries(ctx, srv, found)
	}
	if err == nil {
		err = waitFirstRead(ctx, srv)
	}
	return cmp.Or(m.startError(ctx), err)
}

// waitFirstRead returns after a linearizable read. Etcd itself also waits until the
// member has published its name, which nothing here needs, and which may take seconds
// after appendMissingEntries.
func waitFirstRead(ctx context.Context, srv *etcdserver.EtcdServer) error {
	for {
		// The server fails the reads that wait when it learns of a new leader, shortly
		// after Leader returns it.
		err := srv.LinearizableReadNotify(ctx)
		if !errors.Is(err, etcderrors.ErrLeaderChanged) {
			return err
		}
	}
}

// becomeLeader makes the only member leader without waiting for its election timer, by
// sending it the message with which a leader transfers leadership.
func becomeLeader(ctx context.Context, srv *etcdserver.EtcdServer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, leaderTimeout, errNoLeader)
	defer cancel()
	t := time.NewTicker(electInterval)
	defer t.Stop()
	for n := 0; srv.Leader() != srv.MemberID(); n++ {
		if members := len(srv.Cluster().Members()); members > 1 {
			return fmt.Errorf("the folder belongs to a cluster of %d members: use another data folder, or the endpoints of that cluster", members)
		}
		status, err := readRaftStatus(ctx)
		if err != nil {
			return err
		}
		// srv.AppliedIndex cannot be used: it is ahead of raft's own index. Before an
		// election raft reads all entries that it believes to be unapplied, and panics
		// if the server has applied and dropped them.
		if commit := status.GetCommit(); status.Applied >= commit && (commit > 0 || n >= firstEntryTries) {
			if err := srv.Process(ctx, newMessageToSelf(srv, raftpb.MsgTimeoutNow)); err != nil {
				return err
			}
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

var errNoLeader = fmt.Errorf("the member did not become its own leader within %v: see the log; if it happens again, restore the folder from a backup", leaderTimeout)

// readRaftStatus returns the status of raft. Etcd publishes that of the member that it
// opened last, so the caller must hold the start slot.
func readRaftStatus(ctx context.Context) (raft.Status, error) {
	v, ok := expvar.Get("raft.status").(expvar.Func)
	if !ok {
		return raft.Status{}, errors.New("etcd publishes no raft.status: this program does not match its version of etcd")
	}
	answer := make(chan any, 1)
	go func() { answer <- v.Value() }() // blocks forever if raft has stopped
	select {
	case a := <-answer:
		status, ok := a.(raft.Status)
		if !ok {
			return raft.Status{}, fmt.Errorf("raft.status is a %T: this program does not match its version of etcd", a)
		}
		return status, nil
	case <-ctx.Done():
		return raft.Status{}, context.Cause(ctx)
	}
}

// appendMissingEntries appends empty entries to the log up to the last entry that the
// database has applied. If a damaged end of the log was cut off, the database may be
// ahead of it, and etcd would skip each new entry that it believes to be applied.
func appendMissingEntries(ctx context.Context, srv *etcdserver.EtcdServer, found raftIndexes) error {
	for n := found.logged; n < found.applied; n++ {
		m := newMessageToSelf(srv, raftpb.MsgProp)
		m.Entries = []*raftpb.Entry{{}}
		if err := srv.Process(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func newMessageToSelf(srv *etcdserver.EtcdServer, typ raftpb.MessageType) *raftpb.Message {
	id := uint64(srv.MemberID())
	return &raftpb.Message{Type: typ.Enum(), To: &id, From: &id}
}
