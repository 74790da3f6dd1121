package etcd

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Server is a running store, from Start until Close or until it fails.
type Server struct {
	lifetime  *lifetime
	cfg       Config
	endpoints []string
	member    *member // nil for a cluster
	closeOnce sync.Once
}

// Start opens the store that cfg describes and returns when it answers. The context
// limits the start only. Errors are one line: what failed, why, and what to do.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s := &Server{lifetime: newLifetime(ctx), cfg: cfg}
	if len(cfg.Endpoints) > 0 {
		if err := connectCluster(ctx, cfg); err != nil {
			return nil, fmt.Errorf("etcd: %w", err)
		}
		s.endpoints = slices.Clone(cfg.Endpoints)
		return s, nil
	}
	m, err := startMember(ctx, cfg, s.lifetime)
	if err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	s.member, s.endpoints = m, []string{placeholderURL}
	return s, nil
}

// Size returns the revision of an embedded member's store and the bytes of its
// database; the file also has space to grow. Both are zero for a cluster, and after the server has ended.
func (s *Server) Size() (revision, bytes int64) {
	if s.member == nil {
		return 0, 0
	}
	size, err := abandonable(s.lifetime, s.member.storeSize)
	if err != nil {
		return 0, 0
	}
	return size.revision, size.bytes
}

// CaughtUp reports whether an embedded member has applied all that it has committed. A read
// that begins now and is answered by the member alone (a serializable one) then sees all
// that was answered to a writer or reported to a watch. It is false for a cluster, and once
// Close has been called.
func (s *Server) CaughtUp() bool {
	if s.member == nil || s.lifetime.closing.Load() {
		return false
	}
	store := s.member.etcd.Server
	return store.AppliedIndex() >= store.CommittedIndex()
}

// Done is closed when the server has been closed or has failed.
func (s *Server) Done() <-chan struct{} { return s.lifetime.Done() }

// Err returns why the server failed. It is nil while the server runs, and after Close.
func (s *Server) Err() error {
	if err := s.lifetime.failure(); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

// Close stops what Start has started, waits until it has stopped, and returns Err. It
// may be called more than once. It does not affect a cluster.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.lifetime.closing.Store(true)
		if s.member != nil && s.member.close() {
			segmentSize.release()
		}
		s.lifetime.end(errClosed)
	})
	return s.Err()
}
