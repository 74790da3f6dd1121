package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// ObserveWrites calls f with each write to an embedded member, in order and before the
// writer gets its answer, so f must not block. For a cluster it does nothing.
func (s *Server) ObserveWrites(f func(key []byte, revision int64, deleted bool)) error {
	if s.member == nil {
		return nil
	}
	// The store calls a watcher's filter when it notifies its watchers. A filter that
	// rejects every event needs no reader of the stream.
	observe := func(e *mvccpb.Event) bool {
		f(e.Kv.Key, e.Kv.ModRevision, e.Type == mvccpb.DELETE)
		return true
	}
	stream := s.member.etcd.Server.Watchable().NewWatchStream()
	_, err := stream.Watch(context.Background(), 0, []byte{0}, []byte{}, 0, observe)
	return err
}
