package kubelet

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"

	"github.com/ctrlplane/ctrlplane/internal/controllernames"
)

// pipeListener is a net.Listener for connections inside the process.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// dial returns after the server has accepted the connection.
func (l *pipeListener) dial(ctx context.Context, to dialTarget) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- newPipeConn(server, to):
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept implements net.Listener.
func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr implements net.Listener.
func (l *pipeListener) Addr() net.Addr { return pipeAddr{} }

type pipeAddr struct{}

func (pipeAddr) Network() string { return "memory" }
func (pipeAddr) String() string  { return controllernames.SimulatedKubelet }

// dialTarget is the kubelet that a client connects to.
type dialTarget struct {
	host  string   // as the client names it
	nodes []string // one, unless several nodes have the address
}

// pipeConn is the server's end of a connection.
type pipeConn struct {
	net.Conn
	target dialTarget
	ended  context.CancelFunc // cancels the contexts of its requests, also after a hijack
	ctx    context.Context
}

func newPipeConn(c net.Conn, to dialTarget) *pipeConn {
	p := &pipeConn{Conn: c, target: to}
	p.ctx, p.ended = context.WithCancel(context.Background())
	return p
}

// Read implements net.Conn.
func (c *pipeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		c.ended()
	}
	return n, err
}

// Close implements net.Conn.
func (c *pipeConn) Close() error {
	c.ended()
	return c.Conn.Close()
}

type (
	nodesKey struct{}
	connKey  struct{}
)

// contextWithConn returns the context of the requests of a connection.
func contextWithConn(ctx context.Context, c *tls.Conn) context.Context {
	p := c.NetConn().(*pipeConn)
	ctx = context.WithValue(ctx, connKey{}, net.Conn(c))
	return context.WithValue(ctx, nodesKey{}, p.target.nodes)
}

// contextUntilHangup returns a context that also ends when the client closes the
// connection of a request. net/http does not look at a connection that is hijacked.
func contextUntilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx.Value(connKey{}).(*tls.Conn).NetConn().(*pipeConn).ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// nodesFromContext returns the nodes whose kubelet a request is for.
func nodesFromContext(ctx context.Context) []string {
	nodes, _ := ctx.Value(nodesKey{}).([]string)
	return nodes
}
