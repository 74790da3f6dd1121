package etcd

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/raft/v3/raftpb"
)

const (
	// electEvery is how often leadership is asked for until it is had.
	electEvery = 500 * time.Microsecond
	// firstEntry is how often to ask in vain for a first applied entry before
	// asking for leadership: raft refuses, and warns, while the entry that
	// makes this member a voter is not applied.
	firstEntry = 10
)

// ready returns when the member answers linearised reads.
func (m *member) ready(ctx context.Context, found contents) error {
	srv := m.etcd.Server
	// A server that fails meanwhile would never answer.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.life, func() { cancel(m.life.fault()) })()

	err := elect(ctx, srv)
	if err == nil {
		err = catchUp(ctx, srv, found)
	}
	if err == nil {
		// Not ReadyNotify: it tells that the member has published its name, which
		// nobody asks for, and may be seconds late after catchUp.
		err = srv.LinearizableReadNotify(ctx)
	}
	return cmp.Or(m.why(ctx), err)
}

// elect makes the only member leader at once instead of when its election timer
// runs out, by the message with which a leader hands over.
func elect(ctx context.Context, srv *etcdserver.EtcdServer) error {
	t := time.NewTicker(electEvery)
	defer t.Stop()
	for n := 0; srv.Leader() != srv.MemberID(); n++ {
		if members := len(srv.Cluster().Members()); members > 1 {
			return fmt.Errorf("the folder belongs to a cluster of %d members; name a folder that was made here, or use the cluster by its endpoints", members)
		}
		if srv.AppliedIndex() > 0 || n >= firstEntry {
			if err := srv.Process(ctx, toSelf(srv, raftpb.MsgTimeoutNow)); err != nil {
				return err
			}
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// catchUp fills the log with empty entries up to the last one the database has
// applied. Where a damaged end was cut off the log, the database may be ahead of
// it, and etcd would leave out each new entry whose index it believes applied.
func catchUp(ctx context.Context, srv *etcdserver.EtcdServer, found contents) error {
	for n := found.logged; n < found.applied; n++ {
		m := toSelf(srv, raftpb.MsgProp)
		m.Entries = []*raftpb.Entry{{}}
		if err := srv.Process(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func toSelf(srv *etcdserver.EtcdServer, typ raftpb.MessageType) *raftpb.Message {
	id := uint64(srv.MemberID())
	return &raftpb.Message{Type: typ.Enum(), To: &id, From: &id}
}
