// Package kubelet answers for the kubelets of simulated nodes, in the process of
// the API server: without a socket, a name or an address that has to exist.
package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// Config says who vouches for the kubelets.
type Config struct {
	// CACert and CAKey are the files of the CA that signs their certificates.
	CACert, CAKey string
	// Logger takes what goes wrong with a connection; nil = nowhere.
	Logger *slog.Logger
}

// Server is the kubelets of all simulated nodes. New makes one; connections that
// come before Start wait for it.
type Server struct {
	tls      *tls.Config
	log      *slog.Logger
	listener *pipeListener
	// nodeLister are those that Dialer was given, until Close: client-go's cache of
	// transports keeps dialers for good, and they must not keep the API server.
	nodeLister atomic.Pointer[corelisters.NodeLister]

	mu        sync.Mutex
	server    *http.Server // nil before Start
	serveDone chan struct{}
}

// New returns kubelets that nobody can reach yet: see Dialer.
func New(cfg Config) (*Server, error) {
	issuer, err := newCertIssuer(cfg.CACert, cfg.CAKey)
	if err != nil {
		return nil, fmt.Errorf("simulated kubelets: %w", err)
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Server{
		// A pipe has no buffer: a session ticket, which the server writes
		// unasked, would block it while its client writes the request.
		tls:       &tls.Config{MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, GetCertificate: issuer.issueCertificate},
		log:       log,
		listener:  newPipeListener(),
		serveDone: make(chan struct{}),
	}, nil
}

// Start answers, with what client finds in the control plane.
func (s *Server) Start(client kubernetes.Interface) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = &http.Server{
		Handler:     (&kubeletAPI{client: client}).routes(),
		ErrorLog:    slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context { return contextWithNodes(ctx, c.(*tls.Conn)) },
	}
	// Each request is to see which nodes there are now.
	s.server.SetKeepAlivesEnabled(false)
	go func(server *http.Server) {
		defer close(s.serveDone)
		if err := server.Serve(tls.NewListener(s.listener, s.tls)); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("simulated kubelets", "err", err)
		}
	}(s.server)
}

// Close cuts the connections; there are no new ones.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodeLister.Store(nil)
	if s.server == nil {
		return s.listener.Close()
	}
	err := s.server.Close()
	<-s.serveDone
	s.server = nil
	return err
}
