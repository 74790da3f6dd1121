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
	// electInterval is how often leadership is asked for until it is had.
	electInterval = 500 * time.Microsecond
	// firstEntryTries is how often to ask in vain for a first applied entry before
	// asking for leadership: raft refuses, and warns, while the entry that
	// makes this member a voter is not applied.
	firstEntryTries = 10
	// leaderTimeout bounds the wait for leadership, which takes milliseconds, or on a
	// very slow disk seconds.
	leaderTimeout = time.Minute
)

// waitReady returns when the member answers linearised reads.
func (m *member) waitReady(ctx context.Context, found raftIndexes) error {
	srv := m.etcd.Server
	// A server that fails meanwhile would never answer.
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

// waitFirstRead is enough to be ready. What etcd itself waits for is that the member
// has published its name, which nobody asks for and may take seconds after
// catchUp.
func waitFirstRead(ctx context.Context, srv *etcdserver.EtcdServer) error {
	for {
		// The server knows its leader a moment before it tells waiting reads of the
		// change, which fails them.
		err := srv.LinearizableReadNotify(ctx)
		if !errors.Is(err, etcderrors.ErrLeaderChanged) {
			return err
		}
	}
}

// becomeLeader makes the only member leader at once instead of when its election timer
// runs out, by the message with which a leader hands over.
func becomeLeader(ctx context.Context, srv *etcdserver.EtcdServer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, leaderTimeout, errNoLeader)
	defer cancel()
	t := time.NewTicker(electInterval)
	defer t.Stop()
	for n := 0; srv.Leader() != srv.MemberID(); n++ {
		if members := len(srv.Cluster().Members()); members > 1 {
			return fmt.Errorf("the folder belongs to a cluster of %d members; name a folder that was made here, or use the cluster by its endpoints", members)
		}
		status, err := readRaftStatus(ctx)
		if err != nil {
			return err
		}
		// Not srv.AppliedIndex: it runs ahead of raft's own, and raft panics when
		// it looks, before an election, for unapplied entries that the server has
		// applied and dropped.
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

// readRaftStatus is what raft knows of itself. Etcd shows that in one place of the
// process, of the member it opened last: the caller has to have the turn.
func readRaftStatus(ctx context.Context) (raft.Status, error) {
	v, ok := expvar.Get("raft.status").(expvar.Func)
	if !ok {
		return raft.Status{}, errors.New("raft shows no status")
	}
	answer := make(chan any, 1)
	go func() { answer <- v.Value() }() // never, if raft has died
	select {
	case a := <-answer:
		status, ok := a.(raft.Status)
		if !ok {
			return raft.Status{}, fmt.Errorf("raft's status is a %T", a)
		}
		return status, nil
	case <-ctx.Done():
		return raft.Status{}, context.Cause(ctx)
	}
}

// appendMissingEntries fills the log with empty entries up to the last one the database has
// applied. Where a damaged end was cut off the log, the database may be ahead of
// it, and etcd would leave out each new entry whose index it believes applied.
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
