// Package kubelet acts as the HTTPS servers of the kubelets of simulated nodes. It
// runs in the process of the API server and needs no socket: no host name or
// address of a simulated node has to exist.
package kubelet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"

	"github.com/ctrlplane/ctrlplane/sim/container"
)

// Config configures a Server.
type Config struct {
	// CACert and CAKey are the files of the CA that signs the kubelets' serving
	// certificates.
	CACert, CAKey string
	// Commands runs the commands of containers; nil runs none.
	Commands *container.Runtime
	// ExplainLog says in one line why a run of a container has no output; nil says only that.
	ExplainLog func(pod *corev1.Pod, container string, run int32) string
	// Standby returns why the simulated nodes, and with them the containers, run in another process;
	// nil while they run in this one. A nil func stands for one that always returns nil.
	Standby func() error
	// Program is how a command line of ctrlplane for this control plane begins, in hints, such as "ctrlplane --name a";
	// empty = "ctrlplane".
	Program string
	// Logger receives the errors of connections; nil discards them.
	Logger *slog.Logger
}

// Server serves the API of the kubelets of all simulated nodes. Connections that
// are opened before Start wait for it.
type Server struct {
	tls      *tls.Config
	commands *container.Runtime
	explain  func(pod *corev1.Pod, container string, run int32) string
	standby  func() error
	program  string
	log      *slog.Logger
	listener *pipeListener
	// nodeLister is the one that Dialer was given, until Close. client-go's
	// transport cache keeps dialers forever; this pointer keeps it from keeping the
	// API server's informers, too.
	nodeLister atomic.Pointer[corelisters.NodeLister]

	mu          sync.Mutex
	server      *http.Server // nil before Start
	serveDone   chan struct{}
	connections connTracker
}

// New returns a Server that does not serve yet.
func New(cfg Config) (*Server, error) {
	issuer, err := newCertIssuer(cfg.CACert, cfg.CAKey)
	if err != nil {
		return nil, fmt.Errorf("simulated kubelets: %w", err)
	}
	log := cfg.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	commands := cfg.Commands
	if commands == nil {
		commands = &container.Runtime{}
	}
	explain := cfg.ExplainLog
	if explain == nil {
		explain = func(*corev1.Pod, string, int32) string { return "The container is simulated: it has no output." }
	}
	standby := cfg.Standby
	if standby == nil {
		standby = func() error { return nil }
	}
	return &Server{
		// A pipe has no buffer. A session ticket, which the server sends
		// unprompted, would deadlock with the client that writes its request.
		tls:       &tls.Config{MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true, GetCertificate: issuer.issueCertificate},
		commands:  commands,
		explain:   explain,
		standby:   standby,
		program:   cmp.Or(cfg.Program, "ctrlplane"),
		log:       log,
		listener:  newPipeListener(),
		serveDone: make(chan struct{}),
	}, nil
}

// Start starts serving. The handlers read Pods and Nodes through client.
func (s *Server) Start(client kubernetes.Interface) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server = &http.Server{
		Handler:  s.connections.trackHijacked((&kubeletAPI{client: client, commands: s.commands, explainLog: s.explain, standby: s.standby}).routes()),
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return contextWithConn(ctx, c.(*tls.Conn))
		},
		ConnState: s.connections.connState,
	}
	// Every request dials again and so finds the nodes that exist by then.
	s.server.SetKeepAlivesEnabled(false)
	go func(server *http.Server) {
		defer close(s.serveDone)
		if err := server.Serve(tls.NewListener(s.listener, s.tls)); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("simulated kubelets", "err", err)
		}
	}(s.server)
}

// Close aborts the open connections, refuses new ones and returns when all
// handlers have returned.
func (s *Server) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nodeLister.Store(nil)
	if s.server == nil {
		return s.listener.Close()
	}
	err := s.server.Close()
	<-s.serveDone
	err = errors.Join(err, s.connections.wait())
	s.server = nil
	return err
}
