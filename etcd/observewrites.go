package etcd

import (
	"context"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// ObserveWrites calls f with each write to an embedded member, in order and before the
// writer is answered: f must not take long. Of a cluster elsewhere it is told
// nothing.
func (s *Server) ObserveWrites(f func(key []byte, revision int64, deleted bool)) error {
	if s.member == nil {
		return nil
	}
	// A filter that lets nothing through is called all the same, where the store
	// notifies its watchers; and nothing has to be taken from the stream.
	tell := func(e *mvccpb.Event) bool {
		f(e.Kv.Key, e.Kv.ModRevision, e.Type == mvccpb.DELETE)
		return true
	}
	stream := s.member.etcd.Server.Watchable().NewWatchStream()
	_, err := stream.Watch(context.Background(), 0, []byte{0}, []byte{}, 0, tell)
	return err
}
