package etcd

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
)

// Server is a store that answers, from Start until Close or until it fails.
type Server struct {
	lifetime  *lifetime
	cfg       Config
	endpoints []string
	member    *member // nil for a cluster elsewhere
	closeOnce sync.Once
}

// Start opens the store that cfg names and returns when it answers. The context
// bounds the start only. Errors are one line that says what failed, why, and
// what to do.
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

// Endpoints returns the URLs a client is to be given. That of an embedded member
// is a placeholder, which only its Dialer can reach.
func (s *Server) Endpoints() []string { return slices.Clone(s.endpoints) }

// Dialer returns how a client reaches an embedded member, whatever address it
// asks for; nil for a cluster elsewhere, which is dialled as usual.
func (s *Server) Dialer() func(ctx context.Context, network, addr string) (net.Conn, error) {
	if s.member == nil {
		return nil
	}
	return s.member.dial
}

// Size returns the revision of an embedded member's store and the bytes of its
// database file; zeros for a cluster elsewhere.
func (s *Server) Size() (revision, bytes int64) {
	if s.member == nil {
		return 0, 0
	}
	return s.member.storeSize()
}

// Done is closed when the server was closed or has failed.
func (s *Server) Done() <-chan struct{} { return s.lifetime.Done() }

// Err returns why the server failed; nil while it runs and after a plain Close.
func (s *Server) Err() error {
	if err := s.lifetime.failure(); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	return nil
}

// Close stops what Start started, waits until it is gone, and returns what Err
// does. It may be called more than once; a cluster elsewhere is left alone.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		if s.member != nil {
			s.member.close()
		}
		s.lifetime.end(errClosed)
	})
	return s.Err()
}
