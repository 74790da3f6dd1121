package web

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/ctrlplane/ctrlplane/control"
	"github.com/ctrlplane/ctrlplane/observe"
	"github.com/ctrlplane/ctrlplane/observe/replay"
	"github.com/ctrlplane/ctrlplane/ui/explain"
)

// Options configures Start.
type Options struct {
	// Source provides the data. If it implements observe.Inspector, the page shows objects, and if it implements
	// ui.Describer, the answer to why has what is wrong with an object at present.
	Source observe.Source
	// Player is the source instead: the page plays a recording, which operators control.
	Player *replay.Player
	// Interventions in controllers and in clients; nil = the page offers none.
	Interventions, ClientInterventions control.Interventions
	// Speed sets the speed of the control plane; nil = the page cannot.
	Speed control.SpeedControl
	// Facts returns what explain tells about the running controllers; nil = only the
	// pages are shown.
	Facts func(context.Context) (explain.Facts, error)

	Listen Listen
	// Focus names the controllers that the page is about; nil = it shows those that work.
	Focus []string
	// ReadOnly refuses every intervention, whatever the link.
	ReadOnly bool
	// Opened is called when a page was opened by a link, from the goroutine of the
	// request; may be nil.
	Opened func(Visit)
}

// Visit is a page that was opened by a link.
type Visit struct {
	From   string // the address
	Access Access
}

// Server serves the page until Close.
type Server struct {
	options     Options
	guard       *guard
	sessions    *sessions
	hub         *hub
	url         string            // without a token
	certificate *x509.Certificate // that was created for this run

	streams chan struct{} // has an element for each open page
	traces  chan struct{} // has an element for each trace that is being made
	limits  *limits       // of each viewer

	writeTimeout time.Duration // writeTimeout; longer in a test

	http     *http.Server
	ctx      context.Context // of all requests
	cancel   context.CancelFunc
	running  sync.WaitGroup // the accept loop, the hub and all requests
	mu       sync.Mutex     // guards closing, so that no request begins after Close
	closing  bool
	serveErr error // once running is done
}

// Start listens and serves in the background.
func Start(o Options) (*Server, error) {
	if o.Player != nil {
		o.Source = o.Player
	}
	address, err := o.Listen.resolve()
	if err != nil {
		return nil, err
	}
	cert, created, err := o.Listen.certificate()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot serve the page: %w: choose another --web-address", err)
	}
	s := &Server{
		options: o, sessions: newSessions(), hub: newHub(o.Source, o.Player), limits: newLimits(),
		streams: make(chan struct{}, maxStreams), traces: make(chan struct{}, 2),
		writeTimeout: writeTimeout,
	}
	port := listener.Addr().(*net.TCPAddr).Port
	s.guard = &guard{sessions: s.sessions, readOnly: o.ReadOnly, cookie: "ctrlplane-" + strconv.Itoa(port)}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.http = s.newHTTPServer()
	scheme := "http"
	if cert != nil {
		scheme = "https"
		s.guard.certificate = cert.Leaf
		if created {
			s.certificate = cert.Leaf
		}
		s.http.TLSConfig = &tls.Config{Certificates: []tls.Certificate{*cert}, MinVersion: tls.VersionTLS12}
	}
	s.url = scheme + "://" + LinkAddress(listener.Addr().(*net.TCPAddr)) + "/"
	s.running.Go(func() { s.hub.keepFollowing(s.ctx) })
	s.running.Go(func() {
		serve := func() error { return s.http.Serve(listener) }
		if cert != nil {
			serve = func() error { return s.http.ServeTLS(listener, "", "") }
		}
		if err := serve(); !errors.Is(err, http.ErrServerClosed) {
			s.serveErr = fmt.Errorf("cannot serve the page: %w", err)
		}
	})
	return s, nil
}

func (s *Server) newHTTPServer() *http.Server {
	return &http.Server{
		Handler:           s.countRequests(s.limitWriteTime(limitBodyTime(s.guard.protect(s.routes()), bodyTimeout))),
		BaseContext:       func(net.Listener) context.Context { return s.ctx },
		ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
		HTTP2:             &http.HTTP2Config{WriteByteTimeout: s.writeTimeout}, // the limit of an answer does not end a connection
		ErrorLog:          log.New(io.Discard, "", 0),                          // of connections, such as those that reject the certificate
	}
}

// OnceLink returns a link that opens the page once, with interventions unless the server
// is read-only. The token is in the fragment: browsers do not send it in requests.
func (s *Server) OnceLink() string { return s.url + "#" + s.sessions.newOnceToken() }

// ClassLink returns a link that opens the page any number of times, without interventions.
// It replaces the previous one.
func (s *Server) ClassLink() string { return s.url + "#" + s.sessions.newClassToken() }

// Fingerprint is the SHA-256 fingerprint of the certificate that was created for this run,
// "" if there is none.
func (s *Server) Fingerprint() string {
	if s.certificate == nil {
		return ""
	}
	return fingerprint(s.certificate)
}

// countRequests lets Close wait for all requests.
func (s *Server) countRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		s.mu.Lock()
		if s.closing {
			s.mu.Unlock()
			return
		}
		s.running.Add(1)
		s.mu.Unlock()
		defer s.running.Done()
		next.ServeHTTP(w, req)
	})
}

// Close ends all pages at once, and returns when nothing of the server runs any more.
func (s *Server) Close() error {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.cancel()
	err := s.http.Close() // a write to a page that reads nothing ends with its connection
	s.running.Wait()
	return errors.Join(err, s.serveErr)
}
